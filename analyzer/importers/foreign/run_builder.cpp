#include "analyzer/importers/foreign/run_builder.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/thread.h"
#include "analyzer/importers/foreign/graph_launches.h"
#include "analyzer/importers/foreign/span_order.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers {
namespace {

// Compilers and profilers write such names; two that differ behind that are taken for one.
constexpr const char* kCutNames = "names: no more than 4,096 bytes of one are kept";

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
  if (!id.known()) LeaveOut("names past 1,048,576 were left out");
  return id;
}

StageId RunBuilder::Stage(std::string_view name, std::string_view kind, uint32_t workers,
                          bool ordered) {
  std::string key(name);
  key += '\n';
  key += kind;
  if (const auto found = stages_.find(key); found != stages_.end()) return found->second;
  if (run_.stages.size() >= trace::kMaxStages) {
    LeaveOut("stages past 4,096 were left out");
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
    LeaveOut("queues past 8,191 were left out");
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
    LeaveOut("tracks past 65,536 were joined with the last one");
    return run_.tracks.back().info.id;
  }
  track.id = TrackId{static_cast<uint32_t>(run_.tracks.size())};
  track.name = track.name.empty() ? "track " + std::to_string(track.id.value) : Cut(track.name);
  allowance_.ChargeText(sizeof(model::Track) + track.name.size());
  run_.tracks.emplace_back().info = std::move(track);
  return run_.tracks.back().info.id;
}

CounterId RunBuilder::Counter(std::string_view name, std::string_view unit) {
  if (run_.counters.size() >= trace::kMaxCounters) {
    LeaveOut("counters past 16,384 were joined with the last one");
    return run_.counters.back().id;
  }
  const CounterId id{static_cast<uint32_t>(run_.counters.size())};
  run_.counters.push_back({id, Cut(name), Cut(unit)});
  allowance_.ChargeText(run_.counters.back().name.size());
  return id;
}

uint16_t RunBuilder::Class(const trace::SpanClass& span_class) {
  // Room is kept for classes without a name, of which there are few.
  constexpr size_t kKept = 4'096;
  if (run_.span_classes.size() + kKept < trace::kMaxSpanClasses || !span_class.name.known()) {
    if (const auto number = classes_.Intern(span_class)) return *number;
  }
  LeaveOut("spans lost their names: there are more than 65,535 kinds");
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

void RunBuilder::Repair(int64_t& start_ns, int64_t& end_ns) {
  if (!trace::IsTime(start_ns) || !trace::IsTime(end_ns)) {
    start_ns = trace::ClampTime(start_ns);
    end_ns = trace::ClampTime(end_ns);
    LeaveOut("events lie more than 146 years away from time 0: taken as lying there");
  }
  if (end_ns >= start_ns) return;
  end_ns = start_ns;
  LeaveOut("events end before they begin: taken as having no duration");
}

void RunBuilder::AddBatchWait(TrackId trainer, StageId stage, int64_t start_ns, int64_t end_ns,
                              bool itself) {
  trace::SpanClass wait;
  wait.kind = trace::SpanKind::kWait;
  wait.cause = trace::WaitCause::kEmpty;
  wait.queue = QueueOf(stage);
  wait.activity = trace::SpanActivity::kLoader;
  AddSpan(trainer, Class(wait), start_ns, end_ns);
  if (!itself) return;
  trace::SpanClass work;
  work.stage = stage;
  AddSpan(trainer, Class(work), start_ns, end_ns);
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
    if (count != 0) Warn(std::to_string(count) + " " + kind);
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
