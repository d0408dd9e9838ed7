#include "analyzer/importers/foreign/run_builder.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/base/column.h"
#include "analyzer/base/thread.h"
#include "analyzer/importers/foreign/beside_steps.h"
#include "analyzer/importers/foreign/launches.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers {
namespace {

using trace::SpanColumns;

// "1 event ends late", "2 events end late" of "{event ends|events end} late".
std::string InNumber(uint64_t count, std::string_view text) {
  std::string words = std::to_string(count) + " ";
  while (!text.empty()) {
    const size_t open = text.find('{');
    const size_t bar = text.find('|', open);
    const size_t close = text.find('}', bar);
    words += text.substr(0, open);
    if (close == std::string_view::npos) break;
    words +=
        count == 1 ? text.substr(open + 1, bar - open - 1) : text.substr(bar + 1, close - bar - 1);
    text.remove_prefix(close + 1);
  }
  return words;
}

struct Key {
  int64_t end_ns;
  uint32_t index;
};

class Order {
 public:
  explicit Order(const SpanColumns& spans) : spans_(spans) {}

  bool Before(const Key& a, const Key& b) const {
    if (a.end_ns != b.end_ns) return a.end_ns < b.end_ns;
    const int64_t start_a = spans_.start_ns[a.index];
    const int64_t start_b = spans_.start_ns[b.index];
    return start_a != start_b ? start_a > start_b : a.index > b.index;
  }

  bool Holds() const {
    for (size_t i = 1; i < spans_.size(); ++i) {
      if (!Before(At(i - 1), At(i))) return false;
    }
    return true;
  }

  // The indices in order. Consecutive spans in order of start form a run: one pass with a stack of
  // the open ones yields them by end. Runs are merged pairwise.
  Column<Key> Sorted() const {
    Column<Key> keys;
    keys.reserve(spans_.size());
    std::vector<size_t> bounds = {0};
    while (bounds.back() < spans_.size()) bounds.push_back(AddRun(bounds.back(), keys));
    const auto before = [this](const Key& a, const Key& b) { return Before(a, b); };
    while (bounds.size() > 2) {
      std::vector<size_t> merged = {0};
      for (size_t i = 2; i < bounds.size(); i += 2) {
        std::inplace_merge(keys.begin() + Offset(bounds[i - 2]),
                           keys.begin() + Offset(bounds[i - 1]), keys.begin() + Offset(bounds[i]),
                           before);
        merged.push_back(bounds[i]);
      }
      if (bounds.size() % 2 == 0) merged.push_back(bounds.back());
      bounds = std::move(merged);
    }
    return keys;
  }

 private:
  static std::ptrdiff_t Offset(size_t i) { return static_cast<std::ptrdiff_t>(i); }
  Key At(size_t i) const { return {spans_.EndNs(i), static_cast<uint32_t>(i)}; }

  // Appends the run that begins at `first`; returns where the next one begins.
  size_t AddRun(size_t first, Column<Key>& keys) const {
    std::vector<Key> open;
    bool sorted = true;
    const size_t begin = keys.size();
    const auto emit = [&](const Key& key) {
      sorted = sorted && (keys.size() == begin || Before(keys.back(), key));
      keys.push_back(key);
    };
    size_t i = first;
    for (; i < spans_.size(); ++i) {
      const int64_t start = spans_.start_ns[i];
      if (i > first && start < spans_.start_ns[i - 1]) break;
      const Key key = At(i);
      while (!open.empty() && open.back().end_ns <= start && Before(open.back(), key)) {
        emit(open.back());
        open.pop_back();
      }
      open.push_back(key);
    }
    for (; !open.empty(); open.pop_back()) emit(open.back());
    if (!sorted) {
      std::sort(keys.begin() + Offset(begin), keys.end(),
                [this](const Key& a, const Key& b) { return Before(a, b); });
    }
    return i;
  }

  const SpanColumns& spans_;
};

template <class Values>
void Permute(const Column<Key>& order, Values& values) {
  if (values.empty()) return;
  Values permuted;
  permuted.reserve(values.size());
  for (const Key& key : order) permuted.push_back(values[key.index]);
  values = std::move(permuted);
}

// Compilers and profilers write longer ones; two that differ only after that count as one.
constexpr const char* kCutNames = "names: cut to 4,096 bytes";

// Two threads at most: the machine is shared, and one track usually has most of the spans.
void OrderTracks(std::vector<model::Track>& tracks) {
  std::vector<model::Track*> by_size;
  for (model::Track& track : tracks) by_size.push_back(&track);
  std::sort(by_size.begin(), by_size.end(), [](const model::Track* a, const model::Track* b) {
    return a->spans.size() > b->spans.size();
  });
  constexpr size_t kWorthAThread = 100'000;
  const bool worth = by_size.size() > 1 && by_size[1]->spans.size() > kWorthAThread;
  ForEachParallel(by_size.size(), worth ? 2 : 1, [&](size_t i) { OrderSpans(by_size[i]->spans); });
}

}  // namespace

void OrderSpans(SpanColumns& spans) {
  spans.PadOptional();
  const Order order(spans);
  if (order.Holds()) return;
  const Column<Key> keys = order.Sorted();
  if (!spans.long_durations.empty()) {
    std::vector<uint32_t> place(spans.size());
    for (size_t i = 0; i < keys.size(); ++i) place[keys[i].index] = static_cast<uint32_t>(i);
    for (auto& [index, ns] : spans.long_durations) index = place[index];
    std::sort(spans.long_durations.begin(), spans.long_durations.end());
  }
  Permute(keys, spans.start_ns);
  Permute(keys, spans.duration);
  Permute(keys, spans.span_class);
  Permute(keys, spans.item);
  Permute(keys, spans.bytes);
  Permute(keys, spans.cpu_ns);
  Permute(keys, spans.waker);
}

RunBuilder::RunBuilder(const std::string& path, const std::string& format,
                       const std::string& version, Allowance* allowance)
    : allowance_(allowance == nullptr ? unlimited_ : *allowance),
      strings_(run_.strings),
      classes_(run_.span_classes) {
  run_.path = path;
  SetFormat(format, version);
}

void RunBuilder::SetFormat(const std::string& format, const std::string& version) {
  run_.format = format;
  run_.format_version = version;
  run_.info.imported_from = format;
}

void RunBuilder::LimitNames() { Limit(kCutNames); }

std::string RunBuilder::Cut(std::string_view name) {
  if (name.size() > trace::kMaxNameBytes) LimitNames();
  return std::string(name.substr(0, trace::kMaxNameBytes));
}

trace::StringId RunBuilder::Intern(std::string_view text) {
  const size_t before = run_.strings.size();
  const trace::StringId id = strings_.Intern(text);
  if (run_.strings.size() != before) {
    allowance_.ChargeText(run_.strings.back().size());
    if (text.size() > trace::kMaxNameBytes) LimitNames();
  }
  if (!id.known()) LeaveOut("{name past 1,048,576 was|names past 1,048,576 were} left out");
  return id;
}

StageId RunBuilder::Stage(std::string_view name, std::string_view kind, uint32_t workers,
                          bool ordered) {
  std::string key(name);
  key += '\n';
  key += kind;
  if (const auto found = stages_.find(key); found != stages_.end()) return found->second;
  if (run_.stages.size() >= trace::kMaxStages) {
    LeaveOut("{stage past 4,096 was|stages past 4,096 were} left out");
    return StageId::None();
  }
  allowance_.ChargeText(sizeof(trace::StageInfo) + 2 * key.size());
  trace::StageInfo& stage = run_.stages.emplace_back();
  stage.id = StageId{static_cast<uint32_t>(run_.stages.size() - 1)};
  stage.name = Cut(name);
  stage.kind = Cut(kind);
  stage.workers = workers;
  stage.ordered = ordered;
  stages_.emplace(std::move(key), stage.id);
  return stage.id;
}

void RunBuilder::Connect(StageId input, StageId stage) {
  if (!input.known() || !stage.known() || input == stage) return;
  if (!connected_.emplace(input, stage).second) return;
  allowance_.Charge(Allowance::kEntryBytes);
  run_.stages[stage.value].inputs.push_back(input);
}

QueueId RunBuilder::QueueOf(StageId stage) {
  if (!stage.known()) return QueueId::None();
  trace::StageInfo& producer = run_.stages[stage.value];
  if (producer.queue.known()) return producer.queue;
  if (run_.queues.size() >= trace::kMaxQueues) {
    LeaveOut("{queue past 8,191 was|queues past 8,191 were} left out");
    return QueueId::None();
  }
  producer.queue = QueueId{static_cast<uint32_t>(run_.queues.size())};
  model::Queue& queue = run_.queues.emplace_back();
  queue.info.id = producer.queue;
  queue.info.name = producer.name;
  queue.producer = stage;
  return producer.queue;
}

TrackId RunBuilder::Track(trace::TrackInfo track) {
  if (run_.tracks.size() >= trace::kMaxTracks) {
    LeaveOut("{track past 65,536 was|tracks past 65,536 were} merged into the last one");
    return run_.tracks.back().info.id;
  }
  track.id = TrackId{static_cast<uint32_t>(run_.tracks.size())};
  track.name = track.name.empty() ? "track " + std::to_string(track.id.value) : Cut(track.name);
  allowance_.ChargeText(sizeof(model::Track) + track.name.size());
  run_.tracks.emplace_back().info = std::move(track);
  return run_.tracks.back().info.id;
}

TrackId RunBuilder::ThreadTrack(std::string name, uint64_t thread, StageId stage) {
  trace::TrackInfo info;
  info.name = std::move(name);
  info.thread = thread;
  info.stage = stage;
  return Track(std::move(info));
}

TrackId RunBuilder::DetailTrack(std::string name, uint64_t thread) {
  trace::TrackInfo info;
  info.name = std::move(name);
  info.kind = trace::TrackKind::kDetail;
  info.thread = thread;
  return Track(std::move(info));
}

TrackId RunBuilder::StreamTrack(std::string name, uint32_t device, uint64_t stream) {
  trace::TrackInfo info;
  info.name = std::move(name);
  info.kind = trace::TrackKind::kStream;
  info.thread = stream;
  info.device = device;
  return Track(std::move(info));
}

CounterId RunBuilder::Counter(std::string_view name, std::string_view unit) {
  if (run_.counters.size() >= trace::kMaxCounters) {
    LeaveOut("{counter past 16,384 was|counters past 16,384 were} merged into the last one");
    return run_.counters.back().id;
  }
  const CounterId id{static_cast<uint32_t>(run_.counters.size())};
  run_.counters.push_back({id, Cut(name), Cut(unit)});
  allowance_.ChargeText(run_.counters.back().name.size());
  return id;
}

uint16_t RunBuilder::Class(const trace::SpanClass& span_class) {
  // Reserves room for classes without a name, of which there are few.
  constexpr size_t kKept = 4'096;
  if (run_.span_classes.size() + kKept < trace::kMaxSpanClasses || !span_class.name.known()) {
    if (const auto number = classes_.Intern(span_class)) return *number;
  }
  LeaveOut("{span lost its name|spans lost their names}: there are more than 65,535 kinds");
  trace::SpanClass nameless = span_class;
  nameless.name = trace::StringId::None();
  return classes_.Intern(nameless).value_or(0);
}

uint16_t RunBuilder::Detail(trace::SpanActivity activity, trace::StringId name) {
  trace::SpanClass span_class;
  span_class.activity = activity;
  span_class.name = name;
  return Class(span_class);
}

uint16_t RunBuilder::Work(StageId stage) {
  trace::SpanClass work;
  work.stage = stage;
  return Class(work);
}

uint16_t RunBuilder::Wait(trace::WaitCause cause, QueueId queue) {
  trace::SpanClass wait;
  wait.kind = trace::SpanKind::kWait;
  wait.cause = cause;
  wait.queue = queue;
  return Class(wait);
}

void RunBuilder::Repair(int64_t& start_ns, int64_t& end_ns) {
  if (!trace::IsTime(start_ns) || !trace::IsTime(end_ns)) {
    start_ns = trace::ClampTime(start_ns);
    end_ns = trace::ClampTime(end_ns);
    LeaveOut("{event is|events are} more than 146 years away from time 0: moved to that limit");
  }
  if (end_ns >= start_ns) return;
  end_ns = start_ns;
  LeaveOut("{event ends before it begins|events end before they begin}: the duration is set to 0");
}

void RunBuilder::AddBatchWait(TrackId trainer, StageId stage, int64_t start_ns, int64_t end_ns,
                              bool itself) {
  trace::SpanClass wait;
  wait.kind = trace::SpanKind::kWait;
  wait.cause = trace::WaitCause::kEmpty;
  wait.queue = QueueOf(stage);
  wait.activity = trace::SpanActivity::kLoader;
  AddSpan(trainer, Class(wait), start_ns, end_ns);
  if (itself) AddSpan(trainer, Work(stage), start_ns, end_ns);
}

void RunBuilder::AddTotals(const std::string& name, std::vector<Occurrence> all) {
  if (all.empty()) return;
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  const CounterId counts = Counter(name);
  const CounterId times = Counter(name + " time", "ns");
  double count = 0;
  double ns = 0;
  for (const Occurrence& one : all) {
    Add(trace::Sample{one.start_ns, ++count, counts});
    Add(trace::Sample{one.start_ns, ns += static_cast<double>(one.ns), times});
  }
}

void RunBuilder::Add(trace::Kernel kernel) {
  if (kernel.end_ns < kernel.start_ns || !trace::IsTime(kernel.start_ns) ||
      !trace::IsTime(kernel.end_ns)) {
    Repair(kernel.start_ns, kernel.end_ns);
  }
  kernel.enqueued_ns = trace::ClampTime(kernel.enqueued_ns);
  allowance_.Charge(sizeof kernel);
  run_.rows.kernels.push_back(kernel);
}

void RunBuilder::Add(trace::Copy copy) {
  if (copy.end_ns < copy.start_ns || !trace::IsTime(copy.start_ns) || !trace::IsTime(copy.end_ns)) {
    Repair(copy.start_ns, copy.end_ns);
  }
  copy.enqueued_ns = trace::ClampTime(copy.enqueued_ns);
  allowance_.Charge(sizeof copy);
  run_.rows.copies.push_back(copy);
}

void RunBuilder::Add(const trace::Sample& sample) {
  allowance_.Charge(sizeof sample);
  run_.rows.samples.push_back(sample);
  run_.rows.samples.back().time_ns = trace::ClampTime(sample.time_ns);
}

void RunBuilder::Limit(std::string text) {
  std::vector<std::string>& limits = run_.info.limits;
  if (std::find(limits.begin(), limits.end(), text) == limits.end()) {
    limits.push_back(std::move(text));
  }
}

void RunBuilder::Warn(std::string text) {
  run_.quality.warnings.push_back(run_.path + ": " + std::move(text));
}

void RunBuilder::Damaged(uint64_t offset, uint64_t bytes, std::string reason, bool cut) {
  constexpr size_t kMostRanges = 1'000;
  model::DataQuality& quality = run_.quality;
  quality.damaged_bytes += bytes;
  if (cut && !quality.cut_at) quality.cut_at = offset;
  if (quality.damaged_ranges.size() < kMostRanges) {
    quality.damaged_ranges.push_back({offset, bytes, std::move(reason)});
  }
}

void RunBuilder::GrowDamage(uint64_t bytes) {
  model::DataQuality& quality = run_.quality;
  quality.damaged_bytes += bytes;
  if (!quality.damaged_ranges.empty()) quality.damaged_ranges.back().length += bytes;
}

model::Run RunBuilder::Finish(const std::vector<StepMark>& marks) {
  OrderTracks(run_.tracks);
  LabelBeside(run_, [&](std::string_view label) {
    return Detail(trace::SpanActivity::kEvaluation, Intern(label));
  });
  MarkGraphLaunches(run_.rows.kernels);
  model::DataQuality& quality = run_.quality;
  quality.sealed = true;
  quality.emitted = model::CountSpans(run_);
  quality.stored = quality.emitted;
  for (model::Track& track : run_.tracks) track.rank = run_.info.rank;
  for (model::Queue& queue : run_.queues) queue.rank = run_.info.rank;
  for (const trace::DamagedRange& range : quality.damaged_ranges) {
    if (&range - quality.damaged_ranges.data() == 3) {
      Warn("and in " + std::to_string(quality.damaged_ranges.size() - 3) + " more places");
      break;
    }
    Warn("offset " + std::to_string(range.offset) + ": " + range.reason);
  }
  for (const auto& [kind, count] : counted_) {
    if (count != 0) Warn(InNumber(count, kind));
  }
  const model::TimeRange window = model::WindowOf(run_);
  run_.info.start_ns = window.start_ns;
  run_.info.end_ns = window.end_ns;
  if (realtime_ahead_ns_) {
    run_.info.start_realtime_ns = trace::ClampTime(
        static_cast<int64_t>(static_cast<uint64_t>(window.start_ns) +
                             static_cast<uint64_t>(trace::ClampTime(*realtime_ahead_ns_))));
  }
  std::vector<StepMark> steps = marks;
  for (StepMark& step : steps) {
    step.start_ns = trace::ClampTime(step.start_ns);
    step.end_ns = trace::ClampTime(step.end_ns);
  }
  AddSteps(std::move(steps), run_);
  return std::move(run_);
}

}  // namespace stallscope::importers
