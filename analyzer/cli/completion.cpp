#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "analyzer/base/escape.h"
#include "analyzer/cli/program.h"
#include "analyzer/usage/command_list.h"

namespace stallscope::cli {
namespace {

using usage::CommandRow;
using usage::OptionRow;

std::string Joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::vector<std::string> CommandNames(const std::vector<CommandRow>& commands) {
  std::vector<std::string> names;
  for (const CommandRow& command : commands) names.push_back(command.name);
  return names;
}

// The words that a positional argument takes; empty where it takes files.
std::string PositionalWords(const CommandRow& command) {
  for (const OptionRow& option : command.options) {
    if (option.positional && !option.words.empty()) return Joined(option.words, " ");
  }
  return "";
}

std::string Bash(const std::vector<CommandRow>& commands) {
  std::string options;
  std::string values;
  for (const CommandRow& command : commands) {
    std::vector<std::string> names;
    for (const OptionRow& option : command.options) {
      if (option.positional) continue;
      names.insert(names.end(), option.names.begin(), option.names.end());
      if (option.words.empty()) continue;
      for (const std::string& name : option.names) {
        values += fmt::format("    {}:{}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                              command.name, name, Joined(option.words, " "));
      }
    }
    const std::string words = PositionalWords(command);
    options += fmt::format("    {}) options='{}' words='{}' ;;\n", command.name, Joined(names, " "),
                           words);
  }
  return fmt::format(R"(# Completion of stallscope for bash.
_stallscope() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=${{COMP_WORDS[1]}} options='' words=''
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word"))
    return
  fi
  case "$command:$before" in
{}  esac
  case "$command" in
{}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _stallscope stallscope
)",
                     Joined(CommandNames(commands), " "), values, options);
}

// One option in the syntax of zsh's _arguments.
std::string ZshOption(const OptionRow& option) {
  std::string about = option.about;
  for (size_t at = 0; (at = about.find_first_of("[]:", at)) != std::string::npos; at += 2) {
    about.insert(at, "\\");
  }
  const std::string values = !option.takes_value    ? ""
                             : option.words.empty() ? ":value:_files"
                                                    : ":value:(" + Joined(option.words, " ") + ")";
  if (option.positional) {
    return "        " + ShellWord("*" + (values.empty() ? ":file:_files" : values)) + "\n";
  }
  std::string lines;
  for (const std::string& name : option.names) {
    lines += "        " + ShellWord(fmt::format("{}[{}]{}", name, about, values)) + "\n";
  }
  return lines;
}

std::string Zsh(const std::vector<CommandRow>& commands) {
  std::string names;
  std::string cases;
  for (const CommandRow& command : commands) {
    names += "    " + ShellWord(command.name + ":" + command.about) + "\n";
    std::string options;
    for (const OptionRow& option : command.options) options += ZshOption(option);
    cases +=
        fmt::format("    {})\n      arguments=(\n{}      )\n      ;;\n", command.name, options);
  }
  return fmt::format(R"(#compdef stallscope
# Completion of stallscope for zsh.
_stallscope() {{
  local -a commands arguments
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
{}  esac
  shift words
  (( CURRENT-- ))
  _arguments $arguments
}}
_stallscope "$@"
)",
                     names, cases);
}

std::string Fish(const std::vector<CommandRow>& commands) {
  std::string text = "# Completion of stallscope for fish.\n";
  for (const CommandRow& command : commands) {
    text += fmt::format("complete -c stallscope -n __fish_use_subcommand -f -a {} -d {}\n",
                        command.name, ShellWord(command.about));
    for (const OptionRow& option : command.options) {
      text +=
          fmt::format("complete -c stallscope -n '__fish_seen_subcommand_from {}'", command.name);
      if (option.positional && option.words.empty()) {
        text += " -F\n";
        continue;
      }
      if (option.positional) text += " -f";
      for (const std::string& name : option.names) {
        if (option.positional) break;
        text += name.substr(0, 2) == "--" ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.words.empty()) {
        text +=
            fmt::format("{} -a '{}'", option.positional ? "" : " -x", Joined(option.words, " "));
      } else if (option.takes_value) {
        text += " -r";
      }
      text += " -d " + ShellWord(option.about) + "\n";
    }
  }
  return text;
}

}  // namespace

void AddCompletion(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("completion", "Print a shell completion script");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, &exit_code, shell] {
    const std::vector<CommandRow> commands = usage::ListCommands(app);
    const std::string text = *shell == "bash"  ? Bash(commands)
                             : *shell == "zsh" ? Zsh(commands)
                                               : Fish(commands);
    std::fputs(text.c_str(), stdout);
    exit_code = 0;
  });
}

}  // namespace stallscope::cli
