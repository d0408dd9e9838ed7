#include "analyzer/findings/source_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "analyzer/base/utf8.h"
#include "analyzer/findings/python_call.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/mappers.h"
#include "analyzer/spec/job_knobs.h"
#include "analyzer/words/words.h"

namespace stallscope::findings {
namespace {

// Arguments that a loader without workers rejects.
constexpr std::array<std::string_view, 5> kOfWorkers = {
    "prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout", "in_order"};

struct NewArgument {
  std::string name;
  std::string json;
};

// The settings of one loader that a patch changes in one call.
struct SiteChange {
  const model::Loader* loader = nullptr;
  trace::CallSite call;
  std::vector<NewArgument> settings;
};

struct FileChange {
  const model::Loader* loader = nullptr;  // the first one
  std::vector<SiteChange> sites;
  std::vector<std::string> by_hand;
};

// --- One call ---

// The value means: leave the argument out.
bool IsLeftOut(const NewArgument& setting) {
  std::string word = setting.json;
  std::erase(word, '"');
  return IsProgramsChoice("loader." + setting.name, word);
}

uint32_t FirstLine(const SiteChange& site) {
  return site.call.line != 0 ? site.call.line : site.loader->info.line;
}

// The call in the unchanged text, which must match the trace.
std::optional<PythonCall> FoundCall(const SiteChange& site, const ChangedLines& lines) {
  const trace::CallSite& call = site.call;
  const auto begin = OffsetOf(lines, FirstLine(site), call.column);
  if (!begin) return std::nullopt;
  if (call.end_line == 0) {
    const size_t end = std::min(lines.before.find('\n', *begin), lines.before.size());
    const auto calls = FindCalls(lines.before, *begin, end, call.names);
    return calls.size() == 1 ? calls.front() : std::nullopt;
  }
  const auto end = OffsetOf(lines, call.end_line, call.end_column);
  auto read = ReadCall(lines.before, *begin);
  const bool same = read && end && read->end == *end;
  const bool known =
      same && std::find(call.names.begin(), call.names.end(), read->callee) != call.names.end();
  return known ? std::move(read) : std::nullopt;
}

std::string Named(const SiteChange& site, const std::vector<NewArgument>& settings) {
  std::string text;
  for (const NewArgument& setting : settings) {
    text += (text.empty() ? "" : ", ") + setting.name;
    text += IsLeftOut(setting) ? " left out" : "=" + PythonOf(setting.json, site.call.source);
  }
  return text;
}

// What a constructor rejects next to `name`. torch: batch_size with a batch_sampler.
std::optional<Refusal> Excluded(const PythonCall& call, const std::string& name) {
  if (name != "batch_size") return std::nullopt;
  const bool sampled =
      std::any_of(call.arguments.begin(), call.arguments.end(),
                  [](const PythonArgument& argument) { return argument.name == "batch_sampler"; });
  if (!sampled) return std::nullopt;
  return Refusal{"passes a batch_sampler, which decides the size"};
}

std::string PlaceOf(const SiteChange& site) {
  return words::PlaceInCode(site.loader->info.file, FirstLine(site));
}

// `text` with all settings of a site, or the reason why one of them cannot be set.
std::variant<std::string, Refusal> WithSettings(const SiteChange& site, const PythonCall& found,
                                                std::string text) {
  const trace::CallSite& info = site.call;
  const PythonSignature signature{info.parameters, info.keywords, info.any_keyword};
  const size_t begin = found.begin;
  const auto edit = [&](auto&& change) -> std::optional<Refusal> {
    const auto call = ReadCall(text, begin);
    if (!call) return Refusal{"cannot be parsed"};
    auto changed = change(*call);
    if (auto* const refusal = std::get_if<Refusal>(&changed)) return *refusal;
    text = std::get<std::string>(std::move(changed));
    return std::nullopt;
  };
  for (const NewArgument& setting : site.settings) {
    auto refusal = edit([&](const PythonCall& call) -> std::variant<std::string, Refusal> {
      if (auto excluded = Excluded(call, setting.name)) return std::move(*excluded);
      return IsLeftOut(setting)
                 ? WithoutArgument(text, call, setting.name)
                 : WithArgument(text, call, signature, setting.name, PythonOf(setting.json, text));
    });
    if (refusal) return *refusal;
    if (setting.name != "num_workers" || setting.json != "0") continue;
    for (const std::string_view name : kOfWorkers) {
      refusal = edit(
          [&](const PythonCall& call) { return WithoutArgument(text, call, std::string(name)); });
      if (refusal) return *refusal;
    }
  }
  // The result is shown only if it reads back as a call.
  if (!ReadCall(text, begin)) return Refusal{"cannot be parsed"};
  return text;
}

// Changes `lines.after`, and adds to `by_hand` what it cannot change.
void ChangeCall(const SiteChange& site, ChangedLines& lines, std::vector<std::string>& by_hand) {
  const auto found = FoundCall(site, lines);
  if (!found) {
    by_hand.push_back(
        fmt::format("set {} where {} is constructed: the call at {} is not a plain call to {}",
                    Named(site, site.settings), site.loader->name, PlaceOf(site),
                    site.call.names.empty() ? "its class" : site.call.names.front()));
    return;
  }
  auto changed = WithSettings(site, *found, lines.after);
  if (const auto* const refusal = std::get_if<Refusal>(&changed)) {
    by_hand.push_back(fmt::format("set {} by hand: the call at {} {}", Named(site, site.settings),
                                  PlaceOf(site), refusal->why));
    return;
  }
  lines.after = std::get<std::string>(std::move(changed));
}

// The Trainer of transformers has its own names for the loader's settings.
std::string OfTrainingArguments(const SiteChange& site) {
  std::string text;
  for (const NewArgument& setting : site.settings) {
    const std::string name = setting.name == "batch_size" ? "per_device_train_" : "dataloader_";
    text += (text.empty() ? "" : ", ") + name + Named(site, {setting});
  }
  return fmt::format("set {} in TrainingArguments: the Trainer constructs {}", text,
                     site.loader->name);
}

std::string WhyWithoutSource(const SiteChange& site, const trace::RunInfo& run) {
  const trace::LoaderInfo& info = site.loader->info;
  const std::string what = Named(site, site.settings);
  const auto& frameworks = run.job.frameworks;
  const bool trainer = std::any_of(frameworks.begin(), frameworks.end(), [](const auto& framework) {
    return framework.name == "transformers";
  });
  if (trainer && info.call == trace::CallSite()) return OfTrainingArguments(site);
  if (info.file.empty()) {
    return fmt::format("set {} where {} is constructed", what, site.loader->name);
  }
  if (info.call == trace::CallSite()) {
    return fmt::format("set {} where {} is constructed, in code that {} calls", what,
                       site.loader->name, PlaceOf(site));
  }
  return fmt::format("set {} at {}: the trace does not have these lines", what, PlaceOf(site));
}

// --- A file ---

// A file's lines from several calls, as one text where they touch.
std::vector<ChangedLines> Merged(const std::vector<SiteChange>& sites) {
  std::vector<ChangedLines> all;
  for (const SiteChange& site : sites) {
    const trace::CallSite& call = site.call;
    if (!call.source.empty()) all.push_back({std::max(call.source_line, 1U), call.source, {}});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.line < b.line; });
  std::vector<ChangedLines> merged;
  for (ChangedLines& next : all) {
    if (!merged.empty()) {
      ChangedLines& last = merged.back();
      const size_t count = LinesOf(last.before).size();
      if (next.line <= last.line + count) {
        const auto lines = LinesOf(next.before);
        const size_t known = last.line + count - next.line;
        for (size_t i = known; i < lines.size(); ++i) last.before += lines[i];
        continue;
      }
    }
    merged.push_back(std::move(next));
  }
  for (ChangedLines& lines : merged) lines.after = lines.before;
  return merged;
}

SourceChange ChangeOf(const FileChange& file, const trace::RunInfo& run) {
  const std::vector<SiteChange>& sites = file.sites;
  SourceChange change;
  change.file = file.loader->info.file;
  change.line = sites.empty() ? file.loader->info.line : FirstLine(sites.front());
  change.extent = sites.empty() ? CodeExtent() : ExtentOf(sites.front().call);
  change.by_hand = file.by_hand;
  change.lines = Merged(sites);
  std::vector<const SiteChange*> from_below;
  for (const SiteChange& site : sites) from_below.push_back(&site);
  // A change moves only the text after it.
  std::stable_sort(from_below.begin(), from_below.end(), [](const auto* a, const auto* b) {
    return std::pair(FirstLine(*a), a->call.column) > std::pair(FirstLine(*b), b->call.column);
  });
  const SiteChange* previous = nullptr;
  for (const SiteChange* const site : from_below) {
    const auto lines =
        std::find_if(change.lines.begin(), change.lines.end(), [&](const auto& each) {
          return OffsetOf(each, FirstLine(*site), site->call.column).has_value();
        });
    const bool again = previous != nullptr && FirstLine(*previous) == FirstLine(*site) &&
                       previous->call.column == site->call.column;
    if (site->call.source.empty() || lines == change.lines.end()) {
      change.by_hand.push_back(WhyWithoutSource(*site, run));
    } else if (again) {
      change.by_hand.push_back(fmt::format("set {} for {} alone: {} also constructs other loaders",
                                           Named(*site, site->settings), site->loader->name,
                                           PlaceOf(*site)));
    } else {
      ChangeCall(*site, *lines, change.by_hand);
    }
    previous = site;
  }
  std::erase_if(change.lines, [](const auto& lines) { return lines.before == lines.after; });
  change.diff = UnifiedDiff(change.file, change.lines, run);
  if (change.diff.empty()) change.lines.clear();
  return change;
}

// Settings that no constructor takes: what sets them, by the loader's kind.
struct Elsewhere {
  std::string_view kind;
  std::string_view knob;
  std::string_view how;
  // The call that takes it, if one of this name does, its argument, and its parameters by position.
  std::string_view callee = {};
  std::string_view argument = {};
  std::span<const std::string_view> parameters = {};
};
constexpr std::array<std::string_view, 2> kReadOptions = {"num_threads", "prefetch_buffer_size"};
constexpr std::array<std::string_view, 3> kProcessOptions = {
    "num_workers", "per_worker_buffer_size", "enable_profiling"};
constexpr std::array<std::string_view, 1> kShards = {"num_shards"};
constexpr std::array<std::string_view, 9> kMapper = {"source",         "map_fn",
                                                     "num_workers",    "in_order",
                                                     "method",         "multiprocessing_context",
                                                     "max_concurrent", "snapshot_frequency",
                                                     "prebatch"};
constexpr std::array<Elsewhere, 12> kElsewhere = {{
    {"tf.data", "num_parallel_calls", "num_parallel_calls={} in each map() and interleave()"},
    {"tf.data", "prefetch", "prefetch({}) at the end of the graph"},
    {"tf.data", "threads", "threading.private_threadpool_size={} in the options of the graph"},
    {"grain.", "prefetch", "prefetch_buffer_size={} in grain.ReadOptions", "ReadOptions",
     "prefetch_buffer_size", kReadOptions},
    {"grain.", "threads", "num_threads={} in grain.ReadOptions", "ReadOptions", "num_threads",
     kReadOptions},
    {"grain._src.python.data_loader.", "num_workers", "worker_count={} in grain.DataLoader",
     "DataLoader", "worker_count"},
    {"grain.", "num_workers", "num_workers={} in grain.MultiprocessingOptions",
     "MultiprocessingOptions", "num_workers", kProcessOptions},
    {"torchdata.nodes.", "threads", "num_workers={} in ParallelMapper", "ParallelMapper",
     "num_workers", kMapper},
    {"torchdata.nodes.", "num_workers", "num_workers={}, method=\"process\" in ParallelMapper",
     "ParallelMapper", "num_workers", kMapper},
    {"nvidia.dali", "prefetch", "prefetch_queue_depth={} in the pipeline"},
    {"nvidia.dali", "threads", "num_threads={} in the pipeline"},
    {"", "num_shards", "num_shards={} in to_iterable_dataset()", "to_iterable_dataset",
     "num_shards", kShards},
}};

const Elsewhere* ElsewhereOf(const model::Loader& loader, std::string_view knob) {
  const auto known = std::find_if(kElsewhere.begin(), kElsewhere.end(), [&](const Elsewhere& each) {
    return each.knob == knob && loader.info.kind.starts_with(each.kind);
  });
  return known == kElsewhere.end() ? nullptr : &*known;
}

std::string HowElsewhere(const model::Loader& loader, const NewArgument& setting,
                         const Elsewhere* known) {
  const std::string how = known == nullptr ? setting.name + "=" + setting.json
                                           : fmt::format(fmt::runtime(known->how), setting.json);
  const std::string at = model::CallPlaceOf(loader.info, setting.name);
  return fmt::format("set {}, where {} is built{}", how, loader.name,
                     at.empty() ? at : " (" + at + ")");
}

// The call that takes the knob, if it is in the loader's file.
std::optional<trace::CallSite> CallOf(const trace::LoaderInfo& loader, const Elsewhere& known) {
  const std::string at = model::CallPlaceOf(loader, known.knob);
  trace::CallSite call;
  std::from_chars(at.data() + at.rfind(':') + 1, at.data() + at.size(), call.line);
  if (call.line == 0 || at != words::PlaceInCode(loader.file, call.line)) return std::nullopt;
  call.names = {std::string(known.callee)};
  call.parameters.assign(known.parameters.begin(), known.parameters.end());
  if (call.parameters.empty()) call.keywords = {std::string(known.argument)};
  call.source = loader.call.source;
  call.source_line = loader.call.source_line;
  return call;
}

SiteChange& SiteOf(const model::Loader& loader, const trace::CallSite& call, FileChange& file) {
  auto site = std::find_if(file.sites.begin(), file.sites.end(), [&](const SiteChange& each) {
    return each.loader == &loader && each.call == call;
  });
  if (site == file.sites.end()) site = file.sites.insert(site, SiteChange{&loader, call, {}});
  return *site;
}

// Threads that read need a buffer of at least as many places, or some are idle. One that the patch
// sets is as it says.
void AddBuffer(const model::Loader& loader, const std::string& threads, const Patch& patch,
               SiteChange& site) {
  int64_t count = 0;
  std::from_chars(threads.data(), threads.data() + threads.size(), count);
  const bool sets =
      std::any_of(patch.changes.begin(), patch.changes.end(), [&](const auto& change) {
        const auto* const set = std::get_if<SetChange>(&change);
        return set != nullptr && set->path == loader.name + ".prefetch";
      });
  if (sets || model::LoaderSpecOf(loader.info).prefetch >= count) return;
  site.settings.push_back({std::string(kReadOptions[1]), threads});
}

// What a ParallelMapper has to be given with another number of workers.
void AddOfMapper(const model::Loader& loader, const NewArgument& setting, SiteChange& site) {
  const auto mapper = model::MapperOf(loader.info);
  if (!mapper || setting.json == "0") return;
  const bool processes = setting.name == "num_workers";
  if (processes != mapper->processes) {
    site.settings.push_back({"method", processes ? "\"process\"" : "\"thread\""});
  }
  // More is rejected, and with less some would be idle.
  if (mapper->max_concurrent) site.settings.push_back({"max_concurrent", setting.json});
}

void AddSetting(const model::Loader& loader, NewArgument setting, const Patch& patch,
                FileChange& file) {
  if (!IsOtherLoaderKnob(setting.name) && model::IsDataLoader(loader.info)) {
    SiteOf(loader, loader.info.call, file).settings.push_back(std::move(setting));
    return;
  }
  const Elsewhere* const known = ElsewhereOf(loader, setting.name);
  const auto call =
      known == nullptr || known->callee.empty() ? std::nullopt : CallOf(loader.info, *known);
  if (!call) return file.by_hand.push_back(HowElsewhere(loader, setting, known));
  SiteChange& site = SiteOf(loader, *call, file);
  site.settings.push_back({std::string(known->argument), setting.json});
  if (known->argument == kReadOptions[0]) AddBuffer(loader, setting.json, patch, site);
  AddOfMapper(loader, setting, site);
}

const model::Loader* LoaderNamed(const model::Run& run, std::string_view name) {
  const auto found = std::find_if(run.loaders.begin(), run.loaders.end(),
                                  [&](const auto& loader) { return loader.name == name; });
  return found == run.loaders.end() ? nullptr : &*found;
}

// From a column in UTF-8 bytes; 0 if the trace does not have the line.
uint32_t Utf16Column(const ChangedLines& lines, uint32_t line, uint32_t column) {
  const auto end = OffsetOf(lines, line, column);
  if (!end) return 0;
  uint32_t units = 1;
  ForEachCharacter(std::string_view(lines.before).substr(*end - column, column),
                   [&](const Character& character, std::string_view) {
                     units += character.code > 0xffff ? 2 : 1;
                     return true;
                   });
  return units;
}

}  // namespace

CodeExtent ExtentOf(const trace::CallSite& call) {
  const auto begin = std::pair(call.line, call.column);
  // Without columns, these are the lines of the calls that build a graph.
  if (call.end_column == 0 || begin >= std::pair(call.end_line, call.end_column)) return {};
  const ChangedLines lines{std::max(call.source_line, 1U), call.source, {}};
  const CodeExtent extent{Utf16Column(lines, call.line, call.column), call.end_line,
                          Utf16Column(lines, call.end_line, call.end_column)};
  return extent.column == 0 || extent.end_column == 0 ? CodeExtent{0, call.end_line, 0} : extent;
}

std::vector<SourceChange> SourceChangesOf(const model::Run& run, const Patch& patch) {
  std::vector<SourceChange> changes;
  if (!model::IsJob(run)) return changes;
  std::vector<FileChange> files;
  for (const auto& change : patch.changes) {
    const auto* const set = std::get_if<SetChange>(&change);
    const size_t dot = set == nullptr ? std::string::npos : set->path.rfind('.');
    if (dot == std::string::npos) continue;
    const model::Loader* const loader = LoaderNamed(run, set->path.substr(0, dot));
    if (loader == nullptr) continue;
    auto file = std::find_if(files.begin(), files.end(), [&](const FileChange& each) {
      return each.loader->info.file == loader->info.file;
    });
    if (file == files.end()) file = files.insert(file, FileChange{loader, {}, {}});
    AddSetting(*loader, {set->path.substr(dot + 1), set->value}, patch, *file);
  }
  for (const FileChange& file : files) changes.push_back(ChangeOf(file, run.info));
  for (const auto& change : patch.changes) {
    const auto* const set = std::get_if<SetChange>(&change);
    if (set == nullptr || set->path != "job.threads" || changes.empty()) continue;
    changes.front().by_hand.push_back("before Python starts, for the trainer as well: export " +
                                      ThreadSettings(set->value));
  }
  return changes;
}

std::string DiffOf(const std::vector<SourceChange>& changes) {
  std::string diff;
  for (const SourceChange& change : changes) diff += change.diff;
  return diff;
}

std::string PythonOf(std::string_view json, std::string_view source) {
  if (json == "true") return "True";
  if (json == "false") return "False";
  if (json == "null") return "None";
  const bool text = json.size() >= 2 && json.front() == '"';
  return text ? QuotedLike(source, json.substr(1, json.size() - 2)) : std::string(json);
}

}  // namespace stallscope::findings
