// `stallscope patch`: a spec with the changes that a report, a sweep or a comparison printed.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/cli/outputs.h"
#include "analyzer/cli/program.h"
#include "analyzer/spec/nearest.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec_json.h"

namespace stallscope::cli {
namespace {

struct PatchArguments {
  std::string spec;
  std::string first;
  std::string out;
};

Result<std::string> ReadStdin() {
  std::string text;
  std::string part(size_t{1} << 16, '\0');
  // One byte past the limit is enough for the reader to refuse it.
  while (text.size() <= kMaxSpecBytes) {
    const size_t got = std::fread(part.data(), 1, part.size(), stdin);
    if (got == 0) break;
    text.append(part, 0, got);
  }
  if (std::ferror(stdin) == 0) return text;
  return Error{ErrorKind::kInput, "cannot be read", "stdin", "give a file, or the patch itself"};
}

// A file, "-" for stdin, or the patch itself: no file that a user means begins with a bracket.
Result<Patch> ReadArgument(const std::string& argument) {
  if (argument == "-") {
    STALLSCOPE_ASSIGN_OR_RETURN(const std::string text, ReadStdin());
    return ReadPatch(text, "stdin");
  }
  const size_t begin = argument.find_first_not_of(" \t\r\n");
  const bool pasted =
      begin != std::string::npos && (argument[begin] == '[' || argument[begin] == '{');
  return pasted ? ReadPatch(argument, "the pasted patch") : ReadPatchFile(argument);
}

// Written over, an input would be gone.
Status CheckOutput(const PatchArguments& arguments, std::vector<std::string> inputs) {
  inputs.push_back(arguments.spec);
  for (const std::string& input : inputs) {
    std::error_code missing;
    if (arguments.out.empty() || !std::filesystem::is_regular_file(input, missing) ||
        !std::filesystem::equivalent(input, arguments.out, missing)) {
      continue;
    }
    return Error{ErrorKind::kUsage, "is an input of this command", arguments.out,
                 "give -o another name"};
  }
  return {};
}

Status RunPatch(const PatchArguments& arguments, const std::vector<std::string>& more) {
  std::vector<std::string> patches{arguments.first};
  for (const std::string& argument : more) {
    if (argument.size() > 1 && argument[0] == '-') {
      return Error{ErrorKind::kUsage, "unknown option " + Quoted(argument), "patch",
                   "see stallscope patch --help"};
    }
    patches.push_back(argument);
  }
  STALLSCOPE_RETURN_IF_ERROR(CheckOutput(arguments, patches));
  STALLSCOPE_ASSIGN_OR_RETURN(Spec spec, ReadSpecFile(arguments.spec));
  for (const std::string& argument : patches) {
    STALLSCOPE_ASSIGN_OR_RETURN(const Patch patch, ReadArgument(argument));
    STALLSCOPE_ASSIGN_OR_RETURN(spec, Apply(std::move(spec), patch));
  }
  return WriteOutput(arguments.out, WriteSpec(spec));
}

}  // namespace

void AddPatch(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PatchArguments>();
  CLI::App* command =
      app.add_subcommand("patch", "Apply the changes that a report prints to a spec");
  command->add_option("SPEC.json", arguments->spec, "Spec to change")->required();
  // CLI11 splits what stands in brackets at its commas, unless an option takes one value: the first
  // patch is the option's, the others are what is left over.
  command
      ->add_option("PATCH...", arguments->first,
                   "Patch file, - for stdin, or a pasted patch; several apply in order")
      ->required();
  command->allow_extras();
  command->add_option("-o,--output", arguments->out, "Spec to write (default: stdout)")
      ->type_name("FILE");
  command->callback([arguments, command, &exit_code] {
    const Status done = RunPatch(*arguments, command->remaining());
    exit_code = done.ok() ? 0 : Fail(done.error());
  });
}

}  // namespace stallscope::cli
