#include "analyzer/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "analyzer/base/units.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

// Enough for a picture as wide as a page; the viewer draws its own.
constexpr size_t kLaneColumns = 240;
constexpr size_t kDeviceLanes = 8;

Times InMs(const attribution::Quantiles& ns, uint64_t count) {
  Times ms{ns.mean / kNsPerMs, ns.p50 / kNsPerMs, {}, {}, ns.variation};
  if (count < attribution::kFewestForTails) return ms;
  ms.p95 = ns.p95 / kNsPerMs;
  ms.p99 = ns.p99 / kNsPerMs;
  return ms;
}

// What few steps, or few pieces of work, do not show.
void SayWhatIsTooFew(Report& report) {
  std::vector<std::string>& limits = report.trust.limits;
  const auto fewer = [](size_t than) { return "fewer than " + std::to_string(than); };
  if (report.steps < attribution::kFewestForInterval) {
    limits.push_back(kNoIntervals + (" " + fewer(attribution::kFewestForInterval)) +
                     " steps were counted, too few for those of breakdown and throughput");
  }
  if (report.step_ms.has_value() && !report.step_ms->p95.has_value()) {
    limits.push_back("step_time_ms.p95, step_time_ms.p99: " + fewer(attribution::kFewestForTails) +
                     " steps were counted");
  }
  std::string stages;
  for (const StageRow& stage : report.stages) {
    if (!stage.service_ms.has_value() || stage.service_ms->p95.has_value()) continue;
    stages += (stages.empty() ? "" : ", ") + stage.name;
  }
  if (!stages.empty()) {
    limits.push_back("stages[].service_ms.p95, stages[].service_ms.p99: " +
                     fewer(attribution::kFewestForTails) + " elements were counted for " + stages);
  }
}

// What the report shows of an emulated device was set, not measured.
std::vector<std::string> AssumedOf(const trace::RunInfo& info) {
  std::vector<std::string> assumed;
  if (!info.device.emulated()) return assumed;
  assumed.emplace_back(
      "the device is emulated: compute, transfer, launch and the figures of devices and kernels "
      "are "
      "the times that the spec sets, whatever the model");
  const auto spec = ReadSpec(info.spec_json, "spec");
  if (!spec.ok()) return assumed;
  const TrainerSpec& trainer = spec.value().trainer;
  const EmulatedSpec figures = Resolved(trainer.emulated);
  for (const StageSpec& stage : spec.value().stages) {
    const auto* map = std::get_if<MapSpec>(&stage.kind);
    if (map == nullptr || map->on != MapOn::kDevice) continue;
    assumed.push_back(fmt::format(
        "{}: its ops are assumed to read and write {} on the device (trainer.emulated.op_gbps)",
        stage.name, words::BytesPerSecond(figures.op_gbps * 1e9)));
  }
  if (trainer.precision != Precision::kFp32) {
    const double speed = EmulatedSpeed(trainer);
    const std::string_view word = ToWord(trainer.precision);
    assumed.push_back(
        speed == 1
            ? fmt::format("trainer.precision: a step is assumed to be as fast in {} as in fp32",
                          word)
            : fmt::format("trainer.precision: a step is assumed to be {} as fast in {}",
                          words::Factor(speed), word));
  }
  if (figures.activation_bytes > 0) {
    assumed.push_back(fmt::format(
        "memory.device_peak_bytes: a step is assumed to hold {} per sample on the device",
        words::Bytes(EmulatedActivationBytes(trainer))));
  }
  return assumed;
}

uint64_t StepsPerUpdate(const trace::RunInfo& info) {
  const auto spec = ReadSpec(info.spec_json, "spec");
  return spec.ok() ? static_cast<uint64_t>(spec.value().trainer.accumulate) : 1;
}

Trust TrustOf(const model::Run& run, const attribution::Attribution& attribution) {
  Trust trust;
  trust.line = TrustLine(run);
  trust.complete = run.quality.Complete();
  trust.spans = model::CountSpans(run);
  trust.dropped = run.quality.dropped;
  trust.damaged_bytes = run.quality.damaged_bytes;
  trust.warnings = words::Condensed(run.quality.warnings);
  trust.assumed = AssumedOf(run.info);
  trust.limits = attribution.limits;
  return trust;
}

std::vector<BlameRow> BlameOf(const model::Run& run, const attribution::Attribution& attribution) {
  std::vector<BlameRow> rows;
  for (const attribution::Blame& blame : attribution.blame) {
    rows.push_back({std::string(run.NameOf(blame.stage)), blame.cause, blame.ns, blame.fraction});
  }
  return rows;
}

StageRow StageOf(const model::Run& run, const attribution::StageUse& use) {
  const trace::StageInfo& info = run.stages[use.stage.value];
  StageRow row;
  row.name = info.name;
  row.kind = info.kind;
  for (const StageId input : info.inputs) row.inputs.emplace_back(run.NameOf(input));
  if (use.passed.has_value() || use.elements != 0) {
    row.elements = use.passed.value_or(use.elements);
  }
  row.capacity_samples_per_s = use.capacity_samples_per_s;
  row.bytes = use.bytes;
  // Without one piece of work nothing is known of what its work costs.
  if (use.elements != 0) {
    row.service_ms = InMs(use.service_ns, use.elements);
    row.cpu_s = static_cast<double>(use.cpu_ns) / kNsPerSecond;
  }
  const bool seen = use.elements != 0 || use.busy_ns != 0 || use.starved != 0 || use.blocked != 0;
  // One that only passes elements on in another stage's thread has no workers; and those of other
  // processes an imported trace does not show.
  const bool has_workers = use.own_threads || use.elements != 0 || model::IsTrainer(run, use.stage);
  if (has_workers && (seen || info.workers != 0 || !run.imported())) row.parallelism = use.workers;
  if (seen) {
    row.utilization = use.utilization;
    row.starved = use.starved;
    row.blocked = use.blocked;
  }
  if (use.queue.has_value()) {
    row.queue = QueueRow{std::nullopt, use.queue->mean, use.queue->empty, use.queue->full};
    // No queue has no room: that of a foreign trace may have any.
    if (use.queue->capacity != 0) row.queue->capacity = use.queue->capacity;
  }
  row.ops = use.ops;
  row.sampled_ns = use.sampled_ns;
  return row;
}

std::optional<ColdRow> ColdOf(const model::Run& run, const attribution::Window& window) {
  if (!window.cold.has_value()) return std::nullopt;
  const attribution::ColdStart& cold = *window.cold;
  return ColdRow{cold.steps,   cold.end_ns - cold.start_ns,
                 cold.cost_ns, std::string(run.NameOf(cold.stage)),
                 cold.slower,  cold.cause};
}

// "while the page cache was cold"
std::string_view WhilePhrase(attribution::ColdCause cause) {
  switch (cause) {
    case attribution::ColdCause::kPageCache:
      return "while the page cache was cold";
    case attribution::ColdCause::kFirstEpoch:
      return "in the first epoch";
    case attribution::ColdCause::kWorkers:
      return "for the first items of each worker";
    case attribution::ColdCause::kWarmUp:
      return "while it warmed up";
  }
  return "";
}

// States which steps were excluded, why, and what the cold start cost.
std::string ColdLimit(const ColdRow& cold) {
  std::string text =
      "window.cold_start: the first " + words::Counted(cold.steps, "step") + " (" +
      words::Duration(cold.ns) + ") count in no figure: " + std::string(WhilePhrase(cold.cause)) +
      ", an item took " + words::Factor(cold.slower) + " as long in " + cold.stage + "; ";
  text += cold.cost_ns > 0 ? "that cost " + words::Duration(cold.cost_ns) : "other work hid it";
  return text + "; analyze --first-epoch reports on them";
}

std::vector<ProbeRow> ProbeOf(const model::Run& run, const attribution::Attribution& attribution) {
  std::vector<ProbeRow> rows;
  for (const attribution::Sensitivity& of : attribution.sensitivities) {
    ProbeRow row{std::string(run.NameOf(of.stage)), of.mean, {}, {}, of.windows, of.slowed_by};
    if (of.bounded) {
      row.low = of.low;
      row.high = of.high;
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ProbeRow& a, const ProbeRow& b) { return a.mean < b.mean; });
  return rows;
}

std::vector<ProcessRow> ProcessesOf(const model::Run& run,
                                    const attribution::Attribution& attribution) {
  const int64_t end_ns = model::WindowOf(run).end_ns;
  std::vector<ProcessRow> rows;
  for (const attribution::ProcessUse& use : attribution.processes) {
    const trace::ProcessInfo& info = run.processes[use.process.value];
    const int64_t until = info.end_ns != 0 ? info.end_ns : end_ns;
    rows.push_back({info.name, info.pid, std::max<int64_t>(until - info.start_ns, 0), use});
  }
  return rows;
}

EvidenceRow EvidenceOf(const model::Run& run, const findings::Evidence& evidence) {
  using Kind = findings::Evidence::Kind;
  EvidenceRow row;
  row.start_ns = evidence.start_ns;
  row.end_ns = evidence.end_ns;
  row.step = evidence.step;
  row.text = evidence.text;
  switch (evidence.kind) {
    case Kind::kSpans:
      row.kind = "spans";
      row.name = evidence.stage.known() ? run.NameOf(evidence.stage) : run.NameOf(evidence.track);
      break;
    case Kind::kQueue:
      row.kind = "queue";
      row.name = run.NameOf(evidence.queue);
      break;
    case Kind::kCounter:
      row.kind = "counter";
      row.name = run.NameOf(evidence.counter);
      break;
    case Kind::kStep:
      row.kind = "step";
      break;
    case Kind::kKernel:
      row.kind = "kernel";
      row.name = run.NameOf(evidence.track);
      break;
    case Kind::kCopy:
      row.kind = "copy";
      row.name = run.NameOf(evidence.track);
      break;
  }
  return row;
}

FindingRow FindingOf(const model::Run& run, findings::Finding finding) {
  FindingRow row;
  row.id = std::move(finding.id);
  row.severity = finding.severity;
  row.stage = run.NameOf(finding.stage);
  row.share = finding.share;
  row.text = std::move(finding.text);
  for (const auto& evidence : finding.evidence) row.evidence.push_back(EvidenceOf(run, evidence));
  row.recommendation = std::move(finding.recommendation);
  row.where = std::move(finding.where);
  row.changes = std::move(finding.changes);
  return row;
}

std::string StragglerLine(const model::Run& run, const attribution::Straggler& straggler) {
  std::string line = "step " + std::to_string(straggler.step) + " waited " +
                     words::Duration(straggler.stall_ns) + ", " +
                     words::Duration(straggler.element_ns) + " of it";
  line += " for " + (straggler.element.known() ? model::ItemInWords(run, straggler.element)
                                               : std::string("one element"));
  const std::string_view file = run.Text(straggler.file);
  if (!file.empty()) {
    line += " (" + std::string(file) + ", record " + std::to_string(straggler.record) + ")";
  }
  const std::string_view stage = run.NameOf(straggler.stage);
  if (!stage.empty()) {
    line += " in " + std::string(stage) + " (" +
            std::string(attribution::WordFor(straggler.cause)) + ")";
  }
  return line;
}

timeline::Lane DeviceLane(const attribution::DeviceTimeline& device, bool several_ranks,
                          model::TimeRange range) {
  timeline::Lane lane;
  lane.name = "device " + std::to_string(device.device);
  if (several_ranks) lane.name = "rank " + std::to_string(device.rank) + ", " + lane.name;
  std::vector<std::vector<timeline::Interval>> intervals(attribution::kCategories);
  for (const attribution::Slice& slice : device.slices) {
    intervals[attribution::At(slice.category)].push_back({slice.start_ns, slice.end_ns});
  }
  for (const attribution::Category category : attribution::kReportOrder) {
    lane.layers.emplace_back(attribution::WordFor(category));
    lane.busy.push_back(timeline::BusyFractions(std::move(intervals[attribution::At(category)]),
                                                range, kLaneColumns));
  }
  return lane;
}

MemoryRow MemoryOf(const model::Run& run, const attribution::MemoryUse& use) {
  MemoryRow memory;
  memory.peak_rss_bytes = use.peak_rss_bytes;
  memory.device_peak_bytes = use.device_peak_bytes;
  if (use.limit_bytes != 0) memory.limit_bytes = use.limit_bytes;
  for (const auto& held : use.stages) {
    memory.stages.emplace_back(std::string(run.NameOf(held.stage)), held.bytes);
  }
  return memory;
}

}  // namespace

std::optional<double> StageRow::ShareOf(const attribution::OpUse& op) const {
  return attribution::ShareOfStage(op, sampled_ns);
}

std::optional<int64_t> StageRow::CpuNsOf(const attribution::OpUse& op) const {
  return op.cpu_ns > 0 || cpu_s.value_or(0) > 0 ? std::optional(op.cpu_ns) : std::nullopt;
}

std::string_view WordFor(CheckLevel level) {
  return level == CheckLevel::kError ? "error" : "warn";
}

std::string_view WordFor(Outcome outcome) {
  constexpr std::array<std::string_view, 3> kWords = {"pass", "fail", "inconclusive"};
  return kWords[static_cast<size_t>(outcome)];
}

std::string ExitPhrase(uint32_t exit_code) {
  constexpr uint32_t kSignal = 128;
  const char* const name =
      exit_code > kSignal ? sigabbrev_np(static_cast<int>(exit_code - kSignal)) : nullptr;
  if (name != nullptr) return std::string("was killed by SIG") + name;
  return "exited with " + std::to_string(exit_code);
}

std::string TrustLine(const model::Run& run) {
  const model::DataQuality& quality = run.quality;
  const std::string spans = words::Grouped(model::CountSpans(run)) + " spans";
  const uint32_t exit_code = run.info.job.exit_code.value_or(0);
  const std::string ended = exit_code == 0 ? "" : "; the job " + ExitPhrase(exit_code);
  if (quality.Complete()) return "complete: " + spans + ", none dropped, no damage" + ended;
  std::string line = "incomplete: " + spans + " read";
  if (quality.dropped != 0) line += ", " + words::Grouped(quality.dropped) + " events dropped";
  if (quality.damaged_bytes != 0) {
    line += ", " + words::Bytes(quality.damaged_bytes) + " damaged";
  }
  if (quality.missing_frames != 0) {
    line += ", " + words::Grouped(quality.missing_frames) + " frames missing";
  }
  if (quality.left_out != 0) {
    line += ", " + words::Counted(quality.left_out, "part") + " left out";
  }
  if (quality.cut_at) line += ", cut off at its end";
  if (!quality.write_error.empty()) {
    line += run.imported() ? ", imported from an incomplete file" : ", writing failed";
  }
  if (!quality.sealed) line += ", not sealed (still recording, or the recorder died)";
  return line + ended;
}

Pictures PicturesOf(const model::Run& run, const attribution::Attribution& attribution) {
  Pictures pictures;
  pictures.start_ns = attribution.window.start_ns;
  pictures.end_ns = attribution.window.end_ns;
  const model::TimeRange range{pictures.start_ns, pictures.end_ns};
  if (attribution.window.steps != 0) {
    for (const attribution::StepShare& step : attribution.steps) {
      pictures.step_ms.push_back(static_cast<double>(step.end_ns - step.start_ns) / kNsPerMs);
    }
  }
  const auto& timelines = attribution.timelines;
  const bool several_ranks =
      std::any_of(timelines.begin(), timelines.end(),
                  [&](const auto& device) { return device.rank != timelines.front().rank; });
  for (size_t i = 0; i < std::min(timelines.size(), kDeviceLanes); ++i) {
    pictures.lanes.push_back(DeviceLane(timelines[i], several_ranks, range));
  }
  for (timeline::Lane& lane : timeline::StageLanes(run, range, kLaneColumns)) {
    pictures.lanes.push_back(std::move(lane));
  }
  return pictures;
}

namespace {

void AddStages(const model::Run& run, const attribution::Attribution& attribution, Report& report) {
  for (const auto& use : attribution.stages) {
    report.stages.push_back(StageOf(run, use));
    if (use.sampled_ns > 0 && 100 * use.sampled_ns < 99 * use.busy_ns) {
      report.trust.limits.push_back(
          "stages[].ops: recorded for " +
          words::Percent(static_cast<double>(use.sampled_ns) / static_cast<double>(use.busy_ns)) +
          " of the time in " + report.stages.back().name);
    }
  }
}

}  // namespace

Report MakeReport(const model::Run& run, const attribution::Attribution& attribution,
                  const findings::Verdict& verdict, std::vector<findings::Finding> findings) {
  Report report;
  report.name = run.info.name;
  report.trace = run.path;
  report.format = run.format;
  report.digest = run.info.digest;
  report.host = run.info.host;
  report.device = run.info.device;
  report.spec_json = run.info.spec_json;
  report.job = run.info.job;
  report.folder = run.info.folder;
  report.loaders = run.loaders;
  report.processes = ProcessesOf(run, attribution);
  report.trust = TrustOf(run, attribution);
  report.window_start_ns = attribution.window.start_ns;
  report.window_end_ns = attribution.window.end_ns;
  report.steps = attribution.window.steps;
  report.steps_per_update = StepsPerUpdate(run.info);
  report.warmup_steps = attribution.window.warmup_steps;
  report.probed_steps = attribution.window.probed_steps;
  report.profiled_of = attribution.window.profiled_of;
  if (attribution.window.profiled.has_value()) {
    report.profiled = attribution.window.profiled->steps;
  }
  report.first_epoch = attribution.window.first_epoch;
  report.cold = ColdOf(run, attribution.window);
  if (report.cold.has_value()) report.trust.limits.push_back(ColdLimit(*report.cold));
  report.probe = ProbeOf(run, attribution);
  report.beside = attribution.beside;
  report.throughput = attribution.throughput;
  if (attribution.step_ns.has_value()) {
    report.step_ms = InMs(*attribution.step_ns, attribution.rate_steps);
  }
  report.breakdown = attribution.breakdown;
  report.blame = BlameOf(run, attribution);
  AddStages(run, attribution, report);
  if (attribution.devices.empty() && attribution.cpu.trainer_run_wait.has_value()) {
    report.trust.limits.push_back(
        "compute is host time, without a device track: for " +
        words::Percent(*attribution.cpu.trainer_run_wait) +
        " of the window the trainer's thread was ready without a core (cpu.trainer_run_wait), and "
        "what of that is not in a wait for input is in compute");
  }
  if (attribution.cpu.OthersDisturb()) {
    report.trust.limits.push_back("other programs or virtual machines had " +
                                  words::Percent(*attribution.cpu.others) +
                                  " of the cores during this run (cpu.others): it may be faster "
                                  "without them, and another run may differ by more than the "
                                  "intervals say");
  }
  report.devices = attribution.devices;
  for (const auto& use : attribution.kernels) {
    report.kernels.push_back({std::string(run.Text(use.name)), use.count, use.ns, use.fraction});
  }
  report.idle = attribution.idle;
  report.arithmetic = attribution.arithmetic;
  report.cpu = attribution.cpu;
  report.memory = MemoryOf(run, attribution.memory);
  constexpr size_t kShown = 10;
  for (const auto& straggler : attribution.stragglers) {
    if (report.stragglers.size() == kShown) break;
    report.stragglers.push_back(StragglerLine(run, straggler));
  }
  report.verdict = {verdict.bound,  std::string(run.NameOf(verdict.stage)),
                    verdict.cause,  verdict.confidence,
                    verdict.doubts, verdict.text,
                    verdict.also,   verdict.beside_profile};
  for (auto& finding : findings) report.findings.push_back(FindingOf(run, std::move(finding)));
  SayWhatIsTooFew(report);
  NameMissingFigures(report);
  return report;
}

}  // namespace stallscope::report
