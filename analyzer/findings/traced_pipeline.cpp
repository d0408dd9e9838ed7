#include "analyzer/findings/traced_pipeline.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "analyzer/findings/thresholds.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings {
namespace {

struct TypeSize {
  std::string_view type;
  double bytes;
};
constexpr std::array kTypeSizes = {
    TypeSize{"uint8", 1},    TypeSize{"int8", 1},  TypeSize{"bool", 1},   TypeSize{"half", 2},
    TypeSize{"bfloat16", 2}, TypeSize{"int16", 2}, TypeSize{"float", 4},  TypeSize{"int32", 4},
    TypeSize{"double", 8},   TypeSize{"int64", 8}, TypeSize{"uint16", 2}, TypeSize{"uint32", 4}};

// "32,32,3" and "" of "[32,32,3] []".
std::vector<std::string_view> ShapesIn(std::string_view text) {
  std::vector<std::string_view> shapes;
  for (size_t open = text.find('['); open != std::string_view::npos; open = text.find('[', open)) {
    const size_t close = text.find(']', open);
    if (close == std::string_view::npos) break;
    shapes.push_back(text.substr(open + 1, close - open - 1));
    open = close;
  }
  return shapes;
}

// Types are separated by blanks, dimensions by commas.
std::vector<std::string_view> Listed(std::string_view text) {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(", "), text.size());
    if (end > 0) items.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return items;
}

// Nothing for "?" and "-1".
std::optional<double> CountOf(std::string_view shape) {
  double count = 1;
  for (const std::string_view dimension : Listed(shape)) {
    uint64_t size = 0;
    const auto read = std::from_chars(dimension.data(), dimension.data() + dimension.size(), size);
    if (read.ec != std::errc() || read.ptr != dimension.data() + dimension.size()) {
      return std::nullopt;
    }
    count *= static_cast<double>(size);
  }
  return count;
}

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t what = 0;  // the stage of a piece of work; the name of an operation
};

void SortOutermostFirst(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
}

template <class Wanted>
std::vector<Interval> IntervalsOf(const model::Run& run, const model::Track& track,
                                  Wanted&& wanted) {
  std::vector<Interval> intervals;
  const trace::SpanColumns& spans = track.spans;
  for (size_t i = 0; i < spans.size(); ++i) {
    const std::optional<uint32_t> what = wanted(run.span_classes[spans.span_class[i]]);
    if (what) intervals.push_back({spans.start_ns[i], spans.EndNs(i), *what});
  }
  SortOutermostFirst(intervals);
  return intervals;
}

bool SameThread(const trace::TrackInfo& a, const trace::TrackInfo& b) {
  return a.thread == b.thread && a.name == b.name && a.process == b.process;
}

std::vector<Interval> WorkOn(const model::Run& run, const model::Track& track) {
  return IntervalsOf(run, track, [](const trace::SpanClass& span) -> std::optional<uint32_t> {
    if (span.kind != trace::SpanKind::kWork || !span.stage.known()) return std::nullopt;
    return span.stage.value;
  });
}

std::vector<Interval> OpsOn(const model::Run& run, const model::Track& track) {
  return IntervalsOf(run, track, [](const trace::SpanClass& span) -> std::optional<uint32_t> {
    if (span.activity != trace::SpanActivity::kOperator) return std::nullopt;
    return span.name.value;
  });
}

// The trainer's thread waits for batches.
bool IsTrainers(const model::Run& run, const model::Track& track) {
  const auto& classes = track.spans.span_class;
  return std::any_of(classes.begin(), classes.end(), [&](uint16_t what) {
    return run.span_classes[what].activity == trace::SpanActivity::kLoader;
  });
}

using Workers = std::vector<std::pair<const model::Track*, std::vector<Interval>>>;

bool WorksForMapsAlone(const Case& c, const Workers& workers, const model::Track* thread) {
  return std::none_of(workers.begin(), workers.end(), [&](const auto& other) {
    return other.first != thread &&
           std::any_of(other.second.begin(), other.second.end(),
                       [&](const Interval& piece) { return IsMap(c, StageId{piece.what}); });
  });
}

// Calls take(piece of work, name of the operation) for what the stage itself ran, thread by thread
// in the order of time. An operation belongs to the innermost work around it on its thread. While
// the trainer's thread works for a stage, or the only thread that works for any map, a pool's
// thread that works for none runs its functions.
template <class Take>
void ForEachOp(const Case& c, StageId stage, Take&& take) {
  const model::Run& run = c.run;
  Workers workers;
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kThread) continue;
    std::vector<Interval> work = WorkOn(run, track);
    if (!work.empty()) workers.emplace_back(&track, std::move(work));
  }
  size_t pieces_before = 0;
  for (const auto& [thread, work] : workers) {
    const model::Track& track = *thread;
    const bool works = std::any_of(
        work.begin(), work.end(), [&](const Interval& piece) { return piece.what == stage.value; });
    const bool in_pool = works && (IsTrainers(run, track) || WorksForMapsAlone(c, workers, thread));
    for (const model::Track& detail : run.tracks) {
      if (!works || detail.info.kind != trace::TrackKind::kDetail) continue;
      const bool works_itself = std::any_of(
          workers.begin(), workers.end(),
          [&](const auto& worker) { return SameThread(worker.first->info, detail.info); });
      if (!SameThread(track.info, detail.info) && (!in_pool || works_itself)) continue;
      std::vector<size_t> open;
      size_t next = 0;
      for (const Interval& op : OpsOn(run, detail)) {
        while (next < work.size() && work[next].start_ns <= op.start_ns) open.push_back(next++);
        while (!open.empty() && work[open.back()].end_ns < op.end_ns) open.pop_back();
        if (open.empty() || work[open.back()].what != stage.value) continue;
        take(pieces_before + open.back(), run.Text(trace::StringId{op.what}));
      }
    }
    pieces_before += work.size();
  }
}

bool MayHaveOps(const Case& c, StageId stage) {
  return stage.value < c.run.stages.size() && (c.run.imported() || model::IsJob(c.run));
}

}  // namespace

std::vector<StageId> TracedPipeline(const Case& c) {
  std::vector<StageId> pipeline;
  if (c.spec.has_value()) return pipeline;
  const auto& stages = c.run.stages;
  const auto trainer = std::find_if(stages.begin(), stages.end(), [&](const auto& stage) {
    return RoleOf(c, stage.id) == StageRole::kTrainer && !stage.inputs.empty();
  });
  if (trainer == stages.end()) return pipeline;
  StageId at = trainer->inputs.front();
  while (at.value < stages.size() && pipeline.size() < stages.size()) {
    pipeline.push_back(at);
    const auto& inputs = stages[at.value].inputs;
    at = inputs.empty() ? StageId::None() : inputs.front();
  }
  std::reverse(pipeline.begin(), pipeline.end());
  if (pipeline.size() < 2) pipeline.clear();
  return pipeline;
}

size_t FirstOf(const Case& c, const std::vector<StageId>& pipeline, StageRole role, size_t from) {
  while (from < pipeline.size() && RoleOf(c, pipeline[from]) != role) ++from;
  return std::min(from, pipeline.size());
}

size_t WorkBefore(const Case& c, const std::vector<StageId>& pipeline, size_t at) {
  for (size_t i = at; i-- > 0;) {
    if (RoleOf(c, pipeline[i]) != StageRole::kPrefetch) return i;
  }
  return at;
}

bool IsMap(const Case& c, StageId stage) {
  if (stage.value >= c.run.stages.size()) return false;
  const std::string& kind = c.run.stages[stage.value].kind;
  if (RoleOf(c, stage) == StageRole::kMap) return kind.find("FlatMap") == std::string::npos;
  return kind.find("MapAndBatch") != std::string::npos;
}

std::string_view SettingOf(const Case& c, StageId stage, std::string_view name) {
  if (stage.value >= c.run.stages.size()) return {};
  const auto& settings = c.run.stages[stage.value].settings;
  const auto found = settings.find(std::string(name));
  return found == settings.end() ? std::string_view() : std::string_view(found->second);
}

int64_t NumberSettingOf(const Case& c, StageId stage, std::string_view name) {
  const std::string_view text = SettingOf(c, stage, name);
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::max<int64_t>(number, 0);
}

bool HandsOn(const Case& c, StageId stage, std::string_view type) {
  const std::vector<std::string_view> types = Listed(SettingOf(c, stage, "types"));
  return !types.empty() && types.front() == type;
}

std::optional<double> BytesHandedOn(const Case& c, StageId stage) {
  const std::vector<std::string_view> shapes = ShapesIn(SettingOf(c, stage, "shapes"));
  const std::vector<std::string_view> types = Listed(SettingOf(c, stage, "types"));
  if (shapes.empty() || shapes.size() != types.size()) return std::nullopt;
  double bytes = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::optional<double> count = CountOf(shapes[i]);
    const auto* const size = std::find_if(kTypeSizes.begin(), kTypeSizes.end(),
                                          [&](const TypeSize& of) { return of.type == types[i]; });
    if (!count || size == kTypeSizes.end()) return std::nullopt;
    bytes += *count * size->bytes;
  }
  return bytes;
}

size_t PicturesHandedOn(const Case& c, StageId stage) {
  const std::vector<std::string_view> shapes = ShapesIn(SettingOf(c, stage, "shapes"));
  return static_cast<size_t>(
      std::count_if(shapes.begin(), shapes.end(),
                    [](std::string_view shape) { return Listed(shape).size() > 2; }));
}

std::vector<std::string> OpsOfACall(const Case& c, StageId stage) {
  std::vector<std::string> most;
  if (!MayHaveOps(c, stage)) return most;
  std::vector<std::string> ops;
  size_t call = SIZE_MAX;
  const auto keep = [&] {
    if (ops.size() > most.size()) most = ops;
    ops.clear();
  };
  // A nested call's pieces return to the outer one: that is then taken for two.
  ForEachOp(c, stage, [&](size_t piece, std::string_view name) {
    if (piece != call) keep();
    call = piece;
    ops.emplace_back(name);
  });
  keep();
  return most;
}

bool Runs(const Case& c, StageId stage, OpFamily family) {
  bool runs = false;
  // Names are few, calls are many.
  const auto& classes = c.run.span_classes;
  const bool recorded =
      MayHaveOps(c, stage) &&
      std::any_of(classes.begin(), classes.end(), [&](const trace::SpanClass& span) {
        return span.activity == trace::SpanActivity::kOperator &&
               IsOfFamily(c.run.Text(span.name), family);
      });
  if (!recorded) return runs;
  ForEachOp(c, stage,
            [&](size_t, std::string_view name) { runs = runs || IsOfFamily(name, family); });
  return runs;
}

size_t FirstOp(const std::vector<std::string>& ops, OpFamily family, size_t from) {
  while (from < ops.size() && !IsOfFamily(ops[from], family)) ++from;
  return std::min(from, ops.size());
}

std::optional<TracedPrefix> TracedPrefixOf(const Case& c, const std::vector<StageId>& pipeline) {
  if (FirstOf(c, pipeline, StageRole::kCache) < pipeline.size()) return std::nullopt;
  if (!Worth(c, Category::kInputStall)) return std::nullopt;
  TracedPrefix prefix;
  double share = 0;
  std::string names;
  for (size_t i = 0; i < pipeline.size(); ++i) {
    const StageRole role = RoleOf(c, pipeline[i]);
    const bool is_map = IsMap(c, pipeline[i]);
    if (role == StageRole::kBatch && !is_map) break;
    // What a store may not keep: the order of an epoch, or its end. Both move behind it.
    if (role == StageRole::kShuffle || role == StageRole::kRepeat) continue;
    if (is_map && Runs(c, pipeline[i], OpFamily::kRandom)) break;
    const double blamed = BlamedForWork(c, pipeline[i]);
    share += blamed;
    if (blamed > 0) names += (names.empty() ? "" : ", ") + NameOf(c, pipeline[i]);
    if (!is_map) continue;
    prefix.last = i;
    prefix.share = share;
    prefix.of_maps += blamed;
    prefix.names = names;
    if (role == StageRole::kBatch) break;
  }
  if (prefix.of_maps < kModerateShare) return std::nullopt;
  return prefix;
}

}  // namespace stallscope::findings
