// `stallscope` without arguments: suggests what to do first, from the contents of the folder.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"
#include "analyzer/base/lines.h"
#include "analyzer/base/program.h"
#include "analyzer/cli/program.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/report/text.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"

namespace stallscope::cli {
namespace {

namespace fs = std::filesystem;

// A folder of a million images must not make the user wait.
constexpr size_t kMostEntries = 20'000;
constexpr size_t kMostOpened = 200;
constexpr uint64_t kLargestScript = uint64_t{1} << 20;

struct Script {
  std::string name;
  std::string_view framework;
  int likeness = 0;  // how much it looks like a training program
};

struct Found {
  std::vector<std::string> traces;  // newest first
  std::optional<Script> script;
  std::string spec;
  std::string budget;
};

bool EndsWithAny(const std::string& name, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* ending) { return name.ends_with(ending); });
}

// The first module that a line of Python imports; empty: none.
std::string_view ImportedIn(std::string_view line) {
  constexpr std::string_view kBlank = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  for (const std::string_view word : {std::string_view("import"), std::string_view("from")}) {
    const size_t name = line.find_first_not_of(kBlank, word.size());
    if (!line.starts_with(word) || name == word.size() || name == std::string_view::npos) continue;
    return line.substr(name, line.find_first_of(" \t\r,.;#", name) - name);
  }
  return "";
}

// The framework of the first import that belongs to one; empty: none does.
std::string_view FrameworkOf(std::string_view source) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kFrameworks = {
      {{"torch", "PyTorch"},
       {"lightning", "PyTorch"},
       {"pytorch_lightning", "PyTorch"},
       {"accelerate", "PyTorch"},
       {"transformers", "PyTorch"},
       {"tensorflow", "TensorFlow"},
       {"keras", "TensorFlow"},
       {"jax", "JAX"},
       {"flax", "JAX"},
       {"grain", "JAX"},
       {"stallscope", "the module stallscope"}}};
  for (const std::string_view line : SplitLines(source)) {
    const std::string_view module = ImportedIn(line);
    for (const auto& [name, framework] : kFrameworks) {
      if (module == name) return framework;
    }
  }
  return "";
}

// A module of models or data sets also imports a framework. A program is recognized by its name, or
// by code that only a program has.
std::optional<Script> ReadScript(const std::string& name) {
  const auto source = ReadWholeFile(name, kLargestScript);
  if (!source.ok()) return std::nullopt;
  Script script{name, FrameworkOf(source.value()), 0};
  if (script.framework.empty()) return std::nullopt;
  const std::string stem = fs::path(name).stem().string();
  if (stem.find("train") != std::string::npos) script.likeness += 4;
  if (stem == "main" || stem.find("finetune") != std::string::npos) script.likeness += 3;
  if (source.value().find("__main__") != std::string::npos) script.likeness += 1;
  for (const char* sign : {"optimizer", ".fit(", ".backward("}) {
    if (source.value().find(sign) != std::string::npos) script.likeness += 1;
  }
  if (script.likeness == 0) return std::nullopt;
  return script;
}

struct Entry {
  std::string name;
  fs::file_time_type written;
};

// Regular files, newest first. Users do not work on hidden ones, and a name with control characters
// could not be printed for copying.
std::vector<Entry> FilesHere() {
  std::vector<Entry> files;
  std::error_code failed;
  size_t seen = 0;
  for (fs::directory_iterator at(".", failed), end; !failed && at != end; at.increment(failed)) {
    if (++seen > kMostEntries) break;
    const std::string name = at->path().filename().string();
    std::error_code unreadable;
    if (name.starts_with(".") || Printable(name) != name) continue;
    if (!at->is_regular_file(unreadable)) continue;
    const auto written = at->last_write_time(unreadable);
    if (!unreadable) files.push_back({name, written});
  }
  std::sort(files.begin(), files.end(), [](const Entry& a, const Entry& b) {
    return a.written != b.written ? a.written > b.written : a.name < b.name;
  });
  return files;
}

// Looks for a JSON file that another command reads; true if it is one.
bool TakeOwnJson(const std::string& name, Found& found) {
  const auto text = ReadWholeFile(name, kMaxSpecBytes);
  if (!text.ok()) return false;
  if (text.value().find("stallscope.budget/") != std::string::npos) {
    if (found.budget.empty()) found.budget = name;
    return true;
  }
  if (!ReadSpec(text.value(), name).ok()) return false;
  if (found.spec.empty()) found.spec = name;
  return true;
}

Found Look() {
  Found found;
  size_t opened = 0;
  for (const Entry& file : FilesHere()) {
    const bool json = file.name.ends_with(".json");
    const bool python = file.name.ends_with(".py");
    const bool trace =
        EndsWithAny(file.name, {".sst", ".json", ".json.gz", ".pb", ".pb.gz", ".sqlite"});
    if (!(python || trace) || ++opened > kMostOpened) continue;
    if (python) {
      auto script = ReadScript(file.name);
      if (script && (!found.script || script->likeness > found.script->likeness)) {
        found.script = std::move(script);
      }
      continue;
    }
    if (json && TakeOwnJson(file.name, found)) continue;
    // The name is a reason to look; the content decides.
    const auto is_trace = importers::IsTrace(file.name);
    if (is_trace.ok() && is_trace.value()) found.traces.push_back(file.name);
  }
  return found;
}

// A file name as a command-line argument.
std::string Argument(const std::string& name) { return name.starts_with("-") ? "./" + name : name; }

std::string Python() {
  const std::string path = SearchPath();
  const bool only_python3 =
      FindProgram("python", path).empty() && !FindProgram("python3", path).empty();
  return only_python3 ? "python3" : "python";
}

// A name for a trace that does not exist yet.
std::string NewTrace() {
  std::error_code failed;
  std::string name = "run.sst";
  for (int n = 2; fs::exists(name, failed) && n < 1000; ++n) name = fmt::format("run{}.sst", n);
  return name;
}

// A sample that was installed with the program, or is in its checkout; empty: none.
std::string SampleTrace() {
  for (const std::string& folder : SampleFolders()) {
    const std::string sample = folder + "/input_decode.sst";
    if (access(sample.c_str(), R_OK) == 0) return sample;
  }
  return "";
}

class StartPage {
 public:
  void Say(const std::string& text) {
    for (const std::string& line : words::Wrapped(text, report::kTextWidth)) text_ += line + "\n";
  }
  // On a line of its own and never wrapped, for copying.
  void Command(const std::vector<std::string>& command) {
    text_ += "  " + ShellCommand(command) + "\n";
  }
  void Gap() { text_ += "\n"; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

void SayTraces(const Found& found, StartPage& page) {
  const std::string newest = Argument(found.traces.front());
  page.Say(newest + " is a recorded run. To see what bounds it and what to change:");
  page.Command({"stallscope", "analyze", newest});
  page.Command({"stallscope", "analyze", newest, "-o", "report.html"});
  page.Command({"stallscope", "view", newest});
  page.Gap();
  if (!found.budget.empty()) {
    page.Say(found.budget + " is a budget. Check the run against it:");
    page.Command({"stallscope", "analyze", newest, "--budget", Argument(found.budget)});
    page.Gap();
  }
  if (found.traces.size() > 1) {
    const std::string before = Argument(found.traces[1]);
    page.Say(fmt::format("This folder has {}. To compare the newest with the one before:",
                         words::Counted(found.traces.size(), "recorded run")));
    page.Command({"stallscope", "compare", "--base", before, "--new", newest});
    page.Gap();
  }
}

// `then`: also print the command that comes next.
void SayJob(const std::string& what, const std::string& program, bool then, StartPage& page) {
  const std::string trace = NewTrace();
  page.Say(what);
  std::vector<std::string> command = {"stallscope", "run"};
  if (trace != "run.sst") command.insert(command.end(), {"-o", trace});
  command.insert(command.end(), {"--", Python(), program});
  page.Command(command);
  if (then) page.Command({"stallscope", "analyze", trace});
  page.Gap();
}

}  // namespace

std::string FirstSteps() {
  const Found found = Look();
  StartPage page;
  if (!found.traces.empty()) SayTraces(found, page);
  if (found.script) {
    SayJob(fmt::format("{} uses {}. Record it, unchanged, with all of its processes:",
                       found.script->name, found.script->framework),
           Argument(found.script->name), found.traces.empty(), page);
  }
  if (!found.spec.empty()) {
    page.Say(found.spec + " is the spec of a pipeline. Run it and record the run:");
    page.Command({"stallscope", "record", Argument(found.spec), "-o", NewTrace()});
    page.Gap();
  }
  if (found.traces.empty() && !found.script && found.spec.empty()) {
    SayJob(
        "This folder has no training program, trace or spec. In the folder of your own program, "
        "run:",
        "train.py", true, page);
    if (const std::string sample = SampleTrace(); !sample.empty()) {
      page.Say("Or look at a recorded sample first:");
      page.Command({"stallscope", "analyze", sample});
      page.Gap();
    }
  }
  page.Say(
      "stallscope doctor prints what this machine can record; stallscope --help lists all "
      "commands.");
  return page.Take();
}

}  // namespace stallscope::cli
