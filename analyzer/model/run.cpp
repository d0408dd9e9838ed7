#include "analyzer/model/run.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "analyzer/model/trainers.h"

namespace stallscope::model {
namespace {

// The extent of everything with a time, as far as it was seen.
class Extent {
 public:
  void Add(int64_t start_ns, int64_t end_ns) {
    first_ = std::min(first_, start_ns);
    last_ = std::max(last_, end_ns);
  }
  void Add(const trace::SpanColumns& spans) {
    for (size_t i = 0; i < spans.size(); ++i) Add(spans.start_ns[i], spans.EndNs(i));
  }
  bool empty() const { return first_ > last_; }
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }

 private:
  int64_t first_ = std::numeric_limits<int64_t>::max();
  int64_t last_ = std::numeric_limits<int64_t>::min();
};

Extent ExtentOf(const Run& run) {
  Extent extent;
  for (const Track& track : run.tracks) extent.Add(track.spans);
  for (const auto& row : run.rows.queue_events) extent.Add(row.time_ns, row.time_ns);
  for (const auto& row : run.rows.copies) extent.Add(row.start_ns, row.end_ns);
  for (const auto& row : run.rows.kernels) extent.Add(row.start_ns, row.end_ns);
  for (const auto& row : run.rows.steps) {
    extent.Add(row.requested_ns, std::max(row.requested_ns, row.device_done_ns));
  }
  for (const auto& row : run.rows.samples) extent.Add(row.time_ns, row.time_ns);
  return extent;
}

}  // namespace

std::string_view Run::NameOf(StageId id) const {
  return id.known() ? std::string_view(stages[id.value].name) : std::string_view();
}
std::string_view Run::NameOf(QueueId id) const {
  return id.known() ? std::string_view(queues[id.value].info.name) : std::string_view();
}
std::string_view Run::NameOf(TrackId id) const {
  return id.known() ? std::string_view(tracks[id.value].info.name) : std::string_view();
}
std::string_view Run::NameOf(CounterId id) const {
  return id.known() ? std::string_view(counters[id.value].name) : std::string_view();
}
std::string_view Run::Text(trace::StringId id) const {
  return id.known() ? std::string_view(strings[id.value]) : std::string_view();
}

const trace::OpInfo* Run::OpOf(trace::StringId name) const {
  const std::string_view text = Text(name);
  const auto op = std::find_if(ops.begin(), ops.end(),
                               [&](const trace::OpInfo& known) { return known.name == text; });
  return op == ops.end() ? nullptr : &*op;
}

const trace::CodeLines* Run::LinesOf(std::string_view file, uint32_t first_line) const {
  const auto code = std::find_if(code_lines.begin(), code_lines.end(), [&](const auto& known) {
    return known.first_line == first_line && known.file == file;
  });
  return code == code_lines.end() ? nullptr : &*code;
}

std::span<const trace::Gap> Run::GapsOf(TrackId track) const {
  const auto [begin, end] =
      std::equal_range(rows.gaps.begin(), rows.gaps.end(), trace::Gap{0, 0, 0, track},
                       [](const trace::Gap& a, const trace::Gap& b) { return a.track < b.track; });
  return {begin, end};
}

uint64_t CountSpans(const Run& run) {
  uint64_t count = run.rows.copies.size() + run.rows.kernels.size();
  for (const Track& track : run.tracks) count += track.spans.size();
  return count;
}

std::vector<uint64_t> SpansByTrack(const Run& run) {
  std::vector<uint64_t> spans;
  for (const Track& track : run.tracks) spans.push_back(track.spans.size());
  for (const trace::Copy& copy : run.rows.copies) {
    if (copy.track.known()) ++spans[copy.track.value];
  }
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (kernel.track.known()) ++spans[kernel.track.value];
  }
  return spans;
}

TimeRange WindowOf(const Run& run) {
  TimeRange window{run.info.start_ns, run.info.end_ns};
  if (window.start_ns != 0 && window.end_ns > window.start_ns) return window;
  const Extent extent = ExtentOf(run);
  if (extent.empty()) return {window.start_ns, window.start_ns};
  if (window.start_ns == 0) window.start_ns = extent.first();
  // An end of 0 is unknown, even if the run begins before 0.
  if (window.end_ns == 0 || window.end_ns <= window.start_ns) {
    window.end_ns = std::max(window.start_ns, extent.last());
  }
  return window;
}

bool IsTrainer(const trace::StageInfo& stage) { return stage.kind == "trainer"; }

bool IsTrainer(const Run& run, StageId stage) {
  return stage.known() && IsTrainer(run.stages[stage.value]);
}

bool IsTransport(const Run& run, StageId stage) {
  return stage.known() && run.stages[stage.value].kind == "transport";
}

bool IsLimited(const Run& run, std::string_view figure) {
  const std::vector<std::string>& limits = run.info.limits;
  return std::any_of(limits.begin(), limits.end(),
                     [&](const std::string& limit) { return LimitedFigure(limit) == figure; });
}

std::string_view LimitedFigure(std::string_view limit) { return limit.substr(0, limit.find(':')); }

bool IsBatchWait(const trace::SpanClass& what) {
  return what.kind == trace::SpanKind::kWait && what.cause == trace::WaitCause::kEmpty &&
         what.activity == trace::SpanActivity::kLoader;
}

std::vector<StepInterval> StepIntervals(const Run& run) {
  const std::vector<trace::Step>& steps = run.rows.steps;
  std::vector<StepInterval> intervals(steps.size());
  // By rank; of a job's trainers that follow one another, each has a last step of its own.
  std::map<std::pair<uint32_t, Trainer>, int64_t> next_request;
  for (size_t i = steps.size(); i-- > 0;) {
    const trace::Step& step = steps[i];
    const auto [next, last] =
        next_request.try_emplace({run.RankOfStep(i), TrainerOf(run, step)}, 0);
    const int64_t end =
        last ? std::max({step.device_done_ns, step.issued_ns, step.received_ns}) : next->second;
    next->second = step.requested_ns;
    intervals[i] = {step.index, step.requested_ns, std::max(step.requested_ns, end)};
  }
  return intervals;
}

}  // namespace stallscope::model
