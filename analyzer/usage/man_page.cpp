#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cctype>

#include "analyzer/usage/command_list.h"
#include "analyzer/usage/help.h"

namespace stallscope::usage {
namespace {

// Text that roff must not interpret.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) {
      escaped += std::string("\\&") + c;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// "wrong usage" as a sentence.
std::string Sentence(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return Escaped(text) + ".";
}

std::string OptionHead(const OptionRow& option) {
  std::string head;
  for (const std::string& name : option.names) {
    head += (head.empty() ? "" : ", ") + ("\\fB" + Escaped(name) + "\\fR");
  }
  if (option.positional || !option.takes_value) return head;
  return head + " \\fI" + Escaped(option.value) + "\\fR" + (option.many ? "..." : "");
}

std::string Options(const std::vector<OptionRow>& options) {
  std::string text;
  for (const OptionRow& option : options) {
    text += ".TP\n" + OptionHead(option) + "\n" + Escaped(option.about) + ".\n";
  }
  return text;
}

std::string Synopsis(const std::string& words, const std::vector<OptionRow>& options) {
  std::string line = "\\fB" + Escaped(words) + "\\fR";
  for (const OptionRow& option : options) {
    if (option.positional) line += " \\fI" + Escaped(option.names.front()) + "\\fR";
  }
  return line + " [options]\n";
}

std::string Row(const std::string& name, const std::string& text) {
  return ".TP\n" + Escaped(name) + "\n" + text + "\n";
}

}  // namespace

std::string ManPage(const CLI::App& app, const About& about) {
  const std::string name = app.get_name();
  const std::vector<CommandRow> commands = ListCommands(app);
  const std::vector<OptionRow> own = ListOptions(app);
  std::string capitals = name;
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string page =
      fmt::format(".TH {} 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                  Escaped(capitals), Escaped(app.version()), Escaped(name), Escaped(about.summary));
  if (commands.empty()) page += Synopsis(name, own);
  for (const CommandRow& command : commands) {
    page += Synopsis(name + " " + command.name, command.options) + ".br\n";
  }
  page += ".SH DESCRIPTION\n" + Escaped(app.get_description()) + "\n.SH OPTIONS\n" + Options(own);
  if (!about.notes.empty()) page += ".PP\n" + Escaped(about.notes) + "\n";
  if (!commands.empty()) page += ".SH COMMANDS\n";
  for (const CommandRow& command : commands) {
    page += ".SS " + Escaped(command.name) + "\n" + Escaped(command.about) + ".\n" +
            Options(command.options);
    // A line that begins with a blank begins a line of the page, too.
    if (!command.notes.empty()) page += ".PP\n" + Escaped(command.notes) + "\n";
  }
  page += ".SH EXIT STATUS\n";
  for (const ExitCode& exit : about.exit_codes) {
    page += Row(std::to_string(exit.code),
                Sentence(exit.meaning) + (exit.more.empty() ? "" : " " + Escaped(exit.more)));
  }
  if (!about.environment.empty()) page += ".SH ENVIRONMENT\n";
  for (const auto& [variable, text] : about.environment) page += Row(variable, Escaped(text));
  return page;
}

}  // namespace stallscope::usage
