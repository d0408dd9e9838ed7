#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "analyzer/cli/command_list.h"
#include "analyzer/cli/program.h"

namespace stallscope::cli {
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

std::string OptionHead(const OptionRow& option) {
  std::string head;
  for (const std::string& name : option.names) {
    head += (head.empty() ? "" : ", ") + ("\\fB" + Escaped(name) + "\\fR");
  }
  if (option.positional || !option.takes_value) return head;
  return head + " \\fI" + Escaped(option.value) + "\\fR" + (option.many ? "..." : "");
}

std::string Synopsis(const CommandRow& command) {
  std::string line = "\\fBstallscope " + Escaped(command.name) + "\\fR";
  for (const OptionRow& option : command.options) {
    if (option.positional) line += " \\fI" + Escaped(option.names.front()) + "\\fR";
  }
  return line + " [options]";
}

std::string Page(const std::string& about, const std::vector<CommandRow>& commands) {
  std::string page = fmt::format(
      ".TH STALLSCOPE 1 \"\" \"stallscope {}\" \"User Commands\"\n.SH NAME\nstallscope \\- "
      "pipeline "
      "profiler and bottleneck analyzer\n.SH SYNOPSIS\n",
      STALLSCOPE_VERSION);
  for (const CommandRow& command : commands) page += Synopsis(command) + "\n.br\n";
  page += ".SH DESCRIPTION\n" + Escaped(about) + "\n.SH COMMANDS\n";
  for (const CommandRow& command : commands) {
    page += ".SS " + Escaped(command.name) + "\n" + Escaped(command.about) + ".\n";
    for (const OptionRow& option : command.options) {
      page += ".TP\n" + OptionHead(option) + "\n" + Escaped(option.about) + ".\n";
    }
  }
  page +=
      ".SH EXIT STATUS\n.TP\n0\nDone.\n.TP\n1\nA budget failed, or a run is slower.\n.TP\n2\nWrong "
      "usage, or a bad option value.\n.TP\n3\nAn "
      "input is missing or unreadable. A partly readable trace is a warning and exits "
      "0.\n.TP\n4\nInconclusive (budgets and compare only).\n.TP\n5\nThe run failed, or cannot run "
      "here.\n"
      ".SH ENVIRONMENT\n.TP\nNO_COLOR\nWhen set, disables color.\n.TP\n"
      "STALLSCOPE_CLOCK\nWhen set to \\fImonotonic\\fR, recordings use the kernel's clock instead "
      "of the "
      "processor's.\n";
  return page;
}

}  // namespace

void AddMan(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page (view it with man -l)");
  command->callback([&app, &exit_code] {
    std::fputs(Page(app.get_description(), ListCommands(app)).c_str(), stdout);
    exit_code = 0;
  });
}

}  // namespace stallscope::cli
