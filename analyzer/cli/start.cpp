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
#include <variant>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"
#include "analyzer/base/lines.h"
#include "analyzer/base/program.h"
#include "analyzer/cli/program.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/spec/spec.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"

namespace stallscope::cli {
namespace {

namespace fs = std::filesystem;

// Neither a folder of a million images nor a home folder must make the user wait.
constexpr size_t kMostEntries = 20'000;
constexpr size_t kMostFolders = 200;
constexpr int kDeepest = 2;
constexpr size_t kMostOpened = 200;
constexpr uint64_t kLargestScript = uint64_t{1} << 20;

struct Entry {
  std::string name;
  fs::file_time_type written;
};

struct Script {
  std::string name;
  std::string_view framework;
  int likeness = 0;  // how much it looks like a training program
  fs::file_time_type written = {};
};

struct SpecFile {
  std::string name;
  std::string missing;    // what it reads and is not here
  std::string generated;  // the folder where generated images would stand for that
};

struct Found {
  std::vector<std::string> traces;  // newest first
  fs::file_time_type newest = {};
  std::optional<Script> script;
  std::optional<SpecFile> spec;
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
std::optional<Script> ReadScript(const Entry& file) {
  const auto source = ReadWholeFile(file.name, kLargestScript);
  if (!source.ok()) return std::nullopt;
  Script script{file.name, FrameworkOf(source.value()), 0, file.written};
  if (script.framework.empty()) return std::nullopt;
  const std::string stem = fs::path(file.name).stem().string();
  if (stem.find("train") != std::string::npos) script.likeness += 4;
  if (stem == "main" || stem.find("finetune") != std::string::npos) script.likeness += 3;
  if (source.value().find("__main__") != std::string::npos) script.likeness += 1;
  for (const char* sign : {"optimizer", ".fit(", ".backward("}) {
    if (source.value().find(sign) != std::string::npos) script.likeness += 1;
  }
  if (script.likeness == 0) return std::nullopt;
  return script;
}

// Calls `take` for the folder's entries. Users do not work on hidden ones, and a name with control
// characters could not be printed for copying.
template <class Take>
void ForEachIn(const fs::path& folder, Take&& take) {
  std::error_code failed;
  size_t seen = 0;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (++seen > kMostEntries) break;
    const std::string name = at->path().filename().string();
    if (!name.starts_with(".") && Printable(name) == name) take(*at, name);
  }
}

// Regular files, newest first.
std::vector<Entry> FilesIn(const std::vector<fs::path>& folders) {
  std::vector<Entry> files;
  for (const fs::path& folder : folders) {
    ForEachIn(folder, [&](const fs::directory_entry& entry, const std::string& name) {
      std::error_code unreadable;
      if (!entry.is_regular_file(unreadable)) return;
      const auto written = entry.last_write_time(unreadable);
      if (!unreadable) files.push_back({(folder / name).lexically_normal().string(), written});
    });
  }
  std::sort(files.begin(), files.end(), [](const Entry& a, const Entry& b) {
    return a.written != b.written ? a.written > b.written : a.name < b.name;
  });
  return files;
}

// Where a project keeps its programs and profiles: two folders down, and wherever TensorBoard puts
// a profile (plugins/profile/TIME/). Not in environments, whose packages are nobody's own.
std::vector<fs::path> FoldersBelow() {
  std::vector<std::pair<fs::path, int>> all = {{".", 0}};
  for (size_t i = 0; i < all.size() && all.size() < kMostFolders; ++i) {
    const fs::path folder = all[i].first;
    const int depth = all[i].second;
    const bool of_profiles = folder.filename() == "plugins" || folder.filename() == "profile";
    if (depth >= kDeepest && !of_profiles) {
      std::error_code failed;
      if (fs::is_directory(folder / "plugins/profile", failed))
        all.emplace_back(folder / "plugins", depth);
      continue;
    }
    ForEachIn(folder, [&](const fs::directory_entry& entry, const std::string& name) {
      std::error_code failed;
      const bool own = fs::is_directory(entry.symlink_status(failed)) && name != "node_modules" &&
                       !fs::exists(entry.path() / "pyvenv.cfg", failed);
      if (own && all.size() < kMostFolders) all.emplace_back(folder / name, depth + 1);
    });
  }
  std::vector<fs::path> below;
  for (size_t i = 1; i < all.size(); ++i) below.push_back(all[i].first);
  return below;
}

// `data/*.tfrecord` where there is no folder `data`. No pattern is expanded: it may match millions.
bool IsMissing(const std::string& pattern) {
  const size_t wild = pattern.find_first_of("*?[");
  const fs::path whole = pattern.substr(0, wild);
  const fs::path must_be = wild == std::string::npos ? whole : whole.parent_path();
  std::error_code failed;
  return !must_be.empty() && !fs::exists(must_be, failed);
}

SpecFile SpecFileOf(const std::string& name, const Spec& spec) {
  SpecFile file{name, "", ""};
  for (const StageSpec& stage : spec.stages) {
    const auto* const source = std::get_if<SourceSpec>(&stage.kind);
    if (source == nullptr) continue;
    for (const std::string& pattern : source->files) {
      if (!file.missing.empty() || !IsMissing(pattern)) continue;
      file.missing = pattern;
      const bool images = source->format == SourceFormat::kTfrecord && source->features.empty();
      const fs::path folder = fs::path(pattern).parent_path();
      if (images && pattern == (folder / "*.tfrecord").string()) file.generated = folder.string();
    }
  }
  return file;
}

// Looks for a JSON file that another command reads; true if it is one.
bool TakeOwnJson(const std::string& name, Found& found) {
  const auto text = ReadWholeFile(name, kMaxSpecBytes);
  if (!text.ok()) return false;
  if (text.value().find("stallscope.budget/") != std::string::npos) {
    if (found.budget.empty()) found.budget = name;
    return true;
  }
  const auto spec = ReadSpec(text.value(), name);
  if (!spec.ok()) return false;
  if (!found.spec) found.spec = SpecFileOf(name, spec.value());
  return true;
}

Found LookIn(const std::vector<fs::path>& folders) {
  Found found;
  size_t opened = 0;
  for (const Entry& file : FilesIn(folders)) {
    const bool json = file.name.ends_with(".json");
    const bool python = file.name.ends_with(".py");
    const bool trace =
        EndsWithAny(file.name, {".sst", ".json", ".json.gz", ".pb", ".pb.gz", ".sqlite"});
    if (!(python || trace) || ++opened > kMostOpened) continue;
    if (python) {
      auto script = ReadScript(file);
      if (script && (!found.script || script->likeness > found.script->likeness)) {
        found.script = std::move(script);
      }
      continue;
    }
    if (json && TakeOwnJson(file.name, found)) continue;
    // The name is a reason to look; the content decides.
    const auto is_trace = importers::IsTrace(file.name);
    if (!is_trace.ok() || !is_trace.value()) continue;
    if (found.traces.empty()) found.newest = file.written;
    found.traces.push_back(file.name);
  }
  return found;
}

Found Look() {
  Found here = LookIn({"."});
  if (!here.traces.empty() || here.script || here.spec) return here;
  Found below = LookIn(FoldersBelow());
  if (below.budget.empty()) below.budget = here.budget;
  return below;
}

// The `run` of run.3.sst, the trace of rank 3; empty: it is no rank's.
std::string RunOfRank(const std::string& trace) {
  constexpr std::string_view kDigits = "0123456789";
  if (!trace.ends_with(".sst")) return "";
  const std::string stem = trace.substr(0, trace.size() - 4);
  const size_t last = stem.find_last_not_of(kDigits);
  const bool ranked = last != std::string::npos && last > 0 && last + 1 < stem.size();
  return ranked && stem[last] == '.' ? stem.substr(0, last) : "";
}

// The traces that are ranks of the same run as the newest one, by name; empty: it stands alone.
std::vector<std::string> RanksOfNewest(const std::vector<std::string>& traces) {
  const std::string run = RunOfRank(traces.front());
  std::vector<std::string> ranks;
  for (const std::string& trace : traces) {
    if (!run.empty() && RunOfRank(trace) == run) ranks.push_back(trace);
  }
  if (ranks.size() < 2) return {};
  std::sort(ranks.begin(), ranks.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return ranks;
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
    for (const std::string& line : words::Wrapped(text, words::kTextWidth)) text_ += line + "\n";
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
  std::vector<std::string> newest = RanksOfNewest(found.traces);
  const bool ranks = !newest.empty();
  if (!ranks) newest = {found.traces.front()};
  for (std::string& name : newest) name = Argument(name);
  const auto offer = [&](const char* command, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"stallscope", command};
    words.insert(words.end(), newest.begin(), newest.end());
    words.insert(words.end(), options.begin(), options.end());
    page.Command(words);
  };
  page.Say(
      ranks ? fmt::format("{} to {} are the {} of a run. To see what bounds it and what to change:",
                          newest.front(), newest.back(), words::Counted(newest.size(), "rank"))
            : newest.front() + " is a recorded run. To see what bounds it and what to change:");
  offer("analyze");
  offer("analyze", {"-o", "report.html"});
  offer("view");
  page.Gap();
  if (!found.budget.empty()) {
    page.Say(found.budget + " is a budget. Check the run against it:");
    offer("analyze", {"--budget", Argument(found.budget)});
    page.Gap();
  }
  // Runs of the same folder: others are of something else.
  std::vector<std::string> beside;
  for (const std::string& trace : found.traces) {
    if (fs::path(trace).parent_path() == fs::path(found.traces.front()).parent_path()) {
      beside.push_back(trace);
    }
  }
  if (beside.size() > 1 && !ranks) {
    page.Say(fmt::format("There are {} in its folder. To compare the newest with the one before:",
                         words::Counted(beside.size(), "recorded run")));
    page.Command({"stallscope", "compare", "--base", Argument(beside[1]), "--new", newest.front()});
    page.Gap();
  }
}

std::vector<std::string> AnalyzeNext() { return {"stallscope", "analyze", NewTrace()}; }

// `next`: the command that comes after it, if any.
void SayJob(const std::string& what, const std::string& program,
            const std::vector<std::string>& next, StartPage& page) {
  const std::string trace = NewTrace();
  page.Say(what);
  std::vector<std::string> command = {"stallscope", "run"};
  if (trace != "run.sst") command.insert(command.end(), {"-o", trace});
  command.insert(command.end(), {"--", Python(), program});
  page.Command(command);
  if (!next.empty()) page.Command(next);
  page.Gap();
}

// The program was changed after the newest trace was recorded.
bool IsStale(const Found& found) {
  return found.script && !found.traces.empty() && found.traces.front().ends_with(".sst") &&
         found.script->written > found.newest;
}

void SayScript(const Found& found, StartPage& page) {
  const Script& script = *found.script;
  std::vector<std::string> next;
  std::string what =
      fmt::format("{} uses {}. Record it, unchanged, with all of its processes:", script.name,
                  script.framework);
  if (found.traces.empty()) next = AnalyzeNext();
  if (IsStale(found)) {
    const std::string& old = found.traces.front();
    what = fmt::format("{} was changed after {} was recorded. Record it again", script.name, old);
    const bool alone = RanksOfNewest(found.traces).empty();
    what += alone ? ", and compare:" : ":";
    next = AnalyzeNext();
    if (alone) next = {"stallscope", "compare", "--base", Argument(old), "--new", NewTrace()};
  }
  SayJob(what, Argument(script.name), next, page);
}

void SaySpec(const SpecFile& spec, StartPage& page) {
  std::string what = spec.name + " is the spec of a pipeline. ";
  if (!spec.missing.empty()) what += "Its data, " + spec.missing + ", is not here. ";
  if (!spec.generated.empty()) {
    what += "Generate images in its place, run it and record the run:";
  } else if (!spec.missing.empty()) {
    what += "Where it is, record a run with:";
  } else {
    what += "Run it and record the run:";
  }
  page.Say(what);
  if (!spec.generated.empty()) {
    page.Command({"stallscope", "generate", Argument(spec.generated), "--images", "64"});
  }
  page.Command({"stallscope", "record", Argument(spec.name), "-o", NewTrace()});
  page.Gap();
}

}  // namespace

std::string FirstSteps() {
  const Found found = Look();
  StartPage page;
  // What a trace says of an older program comes last.
  if (IsStale(found)) SayScript(found, page);
  if (!found.traces.empty()) SayTraces(found, page);
  if (found.script && !IsStale(found)) SayScript(found, page);
  if (found.spec) SaySpec(*found.spec, page);
  if (found.traces.empty() && !found.script && !found.spec) {
    SayJob(
        "This folder has no training program, trace or spec. In the folder of your own program, "
        "run:",
        "train.py", AnalyzeNext(), page);
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
