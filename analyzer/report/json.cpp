#include "analyzer/report/json.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/spec/json_text.h"

namespace stallscope::report {
namespace {

Json Number(double value) { return OrNull(std::optional(value)); }

// A spec from a trace is a text like any other: one that is no JSON, or nested so deep that
// printing it would cost the stack, is left out.
Json SpecTree(const std::string& text) {
  if (text.empty() || !ParseJson(text, "", "spec").ok()) return nullptr;
  Json spec = Json::parse(text, nullptr, false);
  return spec.is_object() ? spec : Json(nullptr);
}

Json PlaceTree(const std::string& file, uint32_t line) {
  return file.empty() ? Json(nullptr) : Json{{"file", file}, {"line", line}};
}

Json LoaderTree(const model::Loader& loader) {
  const trace::LoaderInfo& info = loader.info;
  return {{"name", loader.name},
          {"kind", TextOrNull(info.kind)},
          {"dataset", TextOrNull(info.dataset)},
          {"where", PlaceTree(info.file, info.line)},
          {"settings", SpecTree(info.settings_json)}};
}

Json ProcessTree(const ProcessRow& process) {
  const auto seconds = [](const std::optional<int64_t>& ns) {
    return ns.has_value() ? Number(static_cast<double>(*ns) / 1e9) : Json(nullptr);
  };
  return {{"name", process.name},
          {"pid", process.pid},
          {"lived_s", seconds(process.lived_ns)},
          {"cpu_s", seconds(process.use.cpu_ns)},
          {"run_wait_s", seconds(process.use.run_wait_ns)},
          {"read_bytes", OrNull(process.use.read_bytes)},
          {"disk_bytes", OrNull(process.use.disk_bytes)},
          {"peak_rss_bytes", OrNull(process.use.peak_rss_bytes)}};
}

Json JobTree(const Report& report) {
  if (report.job.command.empty()) return nullptr;
  Json frameworks = Json::object();
  for (const auto& framework : report.job.frameworks) {
    frameworks[framework.name] = framework.version;
  }
  Json loaders = Json::array();
  for (const model::Loader& loader : report.loaders) loaders.push_back(LoaderTree(loader));
  Json processes = Json::array();
  for (const ProcessRow& process : report.processes) processes.push_back(ProcessTree(process));
  return {{"command", report.job.command},
          {"cwd", report.folder},
          {"python", TextOrNull(report.job.python)},
          {"frameworks", frameworks},
          {"exit_code", OrNull(report.job.exit_code)},
          {"loaders", loaders},
          {"processes", processes}};
}

Json RunTree(const Report& report) {
  const trace::HostInfo& host = report.host;
  return {{"name", report.name},
          {"trace", report.trace},
          {"format", report.format},
          {"digest", TextOrNull(report.digest)},
          {"host",
           {{"name", host.name},
            {"kernel", host.kernel},
            {"cpu", host.cpu},
            {"cores_online", host.cores_online},
            {"cores_allowed", host.cores_allowed},
            {"cgroup_cores", Number(host.cgroup_cores)},
            {"memory_bytes", host.memory_bytes},
            {"memory_limit_bytes", host.memory_limit_bytes}}},
          {"device",
           {{"kind", TextOrNull(report.device.kind)}, {"name", TextOrNull(report.device.name)}}},
          {"spec", SpecTree(report.spec_json)},
          {"job", JobTree(report)}};
}

Json TrustTree(const Trust& trust) {
  // Assumptions limit the figures, too.
  std::vector<std::string> limits = trust.limits;
  limits.insert(limits.end(), trust.assumed.begin(), trust.assumed.end());
  return {{"complete", trust.complete}, {"spans", trust.spans},
          {"dropped", trust.dropped},   {"damaged_bytes", trust.damaged_bytes},
          {"warnings", trust.warnings}, {"limits", limits},
          {"assumed", trust.assumed},   {"line", trust.line}};
}

Json TimesTree(const std::optional<Times>& times) {
  if (!times.has_value()) return nullptr;
  return {{"mean", Number(times->mean)},
          {"p50", Number(times->p50)},
          {"p95", OrNull(times->p95)},
          {"p99", OrNull(times->p99)}};
}

Json BreakdownTree(const Report& report) {
  Json tree = Json::object();
  for (const attribution::Category category : attribution::kReportOrder) {
    const auto& total = report.breakdown[attribution::At(category)];
    Json& entry = tree[std::string(attribution::WordFor(category))];
    if (!total.has_value()) continue;
    entry = {{"ns", total->ns},
             {"fraction", Number(total->fraction)},
             {"low", total->bounded ? Number(total->low) : Json(nullptr)},
             {"high", total->bounded ? Number(total->high) : Json(nullptr)}};
  }
  return tree;
}

Json BlameTree(const std::vector<BlameRow>& blame) {
  Json rows = Json::array();
  for (const BlameRow& row : blame) {
    rows.push_back({{"stage", row.stage},
                    {"cause", attribution::WordFor(row.cause)},
                    {"ns", row.ns},
                    {"fraction", Number(row.fraction)}});
  }
  return rows;
}

Json StageTree(const StageRow& stage) {
  Json ops = Json::array();
  for (const attribution::OpUse& op : stage.ops) {
    Json lines = Json::array();
    for (const attribution::OpLine& line : op.lines) {
      lines.push_back(
          {{"line", line.line}, {"share", Number(line.share)}, {"samples", line.samples}});
    }
    ops.push_back({{"name", op.name},
                   {"file", TextOrNull(op.file)},
                   {"line", op.file.empty() ? Json(nullptr) : Json(op.line)},
                   {"count", op.count},
                   {"ns", op.ns},
                   {"cpu_ns", OrNull(stage.CpuNsOf(op))},
                   {"fraction", OrNull(stage.ShareOf(op))},
                   {"lines", std::move(lines)}});
  }
  Json queue;
  if (stage.queue.has_value()) {
    queue = {{"capacity", OrNull(stage.queue->capacity)},
             {"mean", OrNull(stage.queue->mean)},
             {"empty", OrNull(stage.queue->empty)},
             {"full", OrNull(stage.queue->full)}};
  }
  return {{"name", stage.name},
          {"kind", stage.kind},
          {"inputs", stage.inputs},
          {"parallelism", OrNull(stage.parallelism)},
          {"elements", OrNull(stage.elements)},
          {"service_ms", TimesTree(stage.service_ms)},
          {"utilization", OrNull(stage.utilization)},
          {"capacity_samples_per_s", OrNull(stage.capacity_samples_per_s)},
          {"starved", OrNull(stage.starved)},
          {"blocked", OrNull(stage.blocked)},
          {"cpu_s", OrNull(stage.cpu_s)},
          {"bytes", stage.bytes},
          {"queue", queue},
          {"ops", std::move(ops)}};
}

Json DeviceTree(const attribution::DeviceUse& device) {
  constexpr std::array<const char*, 3> kDirections = {"h2d", "d2h", "d2d"};
  constexpr std::array<const char*, 3> kMemory = {"unknown", "pinned", "pageable"};
  Json copies = Json::array();
  for (const attribution::CopyUse& copy : device.copies) {
    copies.push_back({{"direction", kDirections[static_cast<size_t>(copy.direction)]},
                      {"memory", kMemory[static_cast<size_t>(copy.memory)]},
                      {"count", copy.count},
                      {"bytes", copy.bytes},
                      {"ns", copy.ns}});
  }
  return {{"id", device.device},        {"rank", device.rank},
          {"name", device.name},        {"busy_ns", device.busy_ns},
          {"kernels", device.kernels},  {"kernel_ns", device.kernel_ns},
          {"copies", std::move(copies)}};
}

Json KernelsTree(const std::vector<KernelRow>& kernels) {
  Json rows = Json::array();
  for (const KernelRow& kernel : kernels) {
    rows.push_back({{"name", kernel.name},
                    {"count", kernel.count},
                    {"ns", kernel.ns},
                    {"fraction", Number(kernel.fraction)}});
  }
  return rows;
}

Json IdleTree(const attribution::DeviceIdle& idle) {
  return {{"ns", idle.ns},
          {"launch_ns", idle.launch_ns},
          {"input_ns", idle.input_ns},
          {"sync_ns", idle.sync_ns},
          {"other_ns", idle.other_ns},
          {"launch_queue_mean", Number(idle.launch_queue_mean)},
          {"launches", idle.launches}};
}

Json CpuTree(const attribution::CpuUse& cpu) {
  return {{"cores", Number(cpu.cores)},
          {"process_busy", OrNull(cpu.process_busy)},
          {"run_wait", OrNull(cpu.run_wait)},
          {"throttled", OrNull(cpu.throttled)},
          {"steal", OrNull(cpu.steal)},
          {"read_bytes_per_s", OrNull(cpu.read_bytes_per_s)},
          {"disk_bytes_per_s", OrNull(cpu.disk_bytes_per_s)},
          {"trainer_run_wait", OrNull(cpu.trainer_run_wait)},
          {"taken_by_input", OrNull(cpu.taken_by_input)},
          {"others", OrNull(cpu.others)}};
}

Json ArithmeticTree(const std::optional<attribution::Arithmetic>& arithmetic) {
  if (!arithmetic.has_value()) return nullptr;
  return {{"flops_per_step", arithmetic->flops_per_step},
          {"flops_per_s", Number(arithmetic->flops_per_s)},
          {"flops_per_s_computing", Number(arithmetic->flops_per_s_computing)},
          {"peak_flops_per_s", OrNull(arithmetic->peak_flops_per_s)},
          {"fraction_of_peak", OrNull(arithmetic->fraction_of_peak)}};
}

Json MemoryTree(const MemoryRow& memory) {
  Json stages = Json::array();
  for (const auto& [name, bytes] : memory.stages) {
    stages.push_back({{"name", name}, {"bytes", bytes}});
  }
  return {{"peak_rss_bytes", OrNull(memory.peak_rss_bytes)},
          {"device_peak_bytes", OrNull(memory.device_peak_bytes)},
          {"stages", stages},
          {"limit_bytes", OrNull(memory.limit_bytes)}};
}

Json VerdictTree(const VerdictRow& verdict) {
  Json cause;
  if (verdict.cause.has_value()) cause = attribution::WordFor(*verdict.cause);
  return {{"bound", findings::WordFor(verdict.bound)},
          {"stage", TextOrNull(verdict.stage)},
          {"cause", cause},
          {"confidence", Number(verdict.confidence)},
          {"text", verdict.text},
          {"also", TextOrNull(verdict.also)},
          {"doubts", verdict.doubts}};
}

Json ProbeTree(const ProbeRow& row) {
  return {{"stage", row.stage},
          {"sensitivity",
           {{"mean", Number(row.mean)}, {"low", OrNull(row.low)}, {"high", OrNull(row.high)}}},
          {"windows", row.windows},
          {"slowed_by", Number(row.slowed_by)}};
}

Json BesideTree(const attribution::BesideUse& use) {
  return {
      {"name", use.name}, {"count", use.count}, {"ns", use.ns}, {"fraction", Number(use.fraction)}};
}

Json RecommendationTree(const findings::Recommendation& recommendation) {
  Json gain;
  const auto& predicted = recommendation.gain;
  const auto& measured = recommendation.measured;
  if (predicted.has_value() || measured.has_value()) {
    const auto figure = [](const auto& of, auto member) {
      return of.has_value() ? Json(Number((*of).*member)) : Json(nullptr);
    };
    gain = {{"predicted", figure(predicted, &findings::Gain::predicted)},
            {"low", figure(predicted, &findings::Gain::low)},
            {"high", figure(predicted, &findings::Gain::high)},
            {"measured", figure(measured, &findings::Measurement::factor)},
            {"measured_low", figure(measured, &findings::Measurement::low)},
            {"measured_high", figure(measured, &findings::Measurement::high)},
            {"measured_runs", measured ? Json(measured->runs) : Json(nullptr)},
            {"disturbed", measured ? TextOrNull(measured->disturbed) : Json(nullptr)}};
    if (measured.has_value() && measured->first_run.has_value()) {
      gain["measured_first_run"] = Number(*measured->first_run);
    }
  }
  const findings::Code& code = recommendation.code;
  return {{"aim", findings::WordFor(recommendation.aim)},
          {"text", recommendation.text},
          {"patch", PatchTree(recommendation.of_stages ? Patch() : recommendation.patch)},
          {"gain", gain},
          {"unpriced", TextOrNull(recommendation.unpriced)},
          {"assumptions", recommendation.assumptions},
          {"memory_bytes", OrNull(recommendation.memory_bytes)},
          {"code",
           {{"tf.data", TextOrNull(code.tf_data)},
            {"pytorch", TextOrNull(code.pytorch)},
            {"dali", TextOrNull(code.dali)},
            {"grain", TextOrNull(code.grain)}}}};
}

Json FindingTree(const FindingRow& finding) {
  Json evidence = Json::array();
  for (const EvidenceRow& row : finding.evidence) {
    evidence.push_back({{"kind", row.kind},
                        {"name", TextOrNull(row.name)},
                        {"start_ns", row.start_ns},
                        {"end_ns", row.end_ns},
                        {"step", OrNull(row.step)},
                        {"text", row.text}});
  }
  Json recommendation;
  if (finding.recommendation.has_value()) {
    recommendation = RecommendationTree(*finding.recommendation);
  }
  Json by_hand = Json::array();
  for (const findings::SourceChange& change : finding.changes) {
    for (const std::string& text : change.by_hand) by_hand.push_back(text);
  }
  return {{"id", finding.id},
          {"severity", findings::WordFor(finding.severity)},
          {"stage", TextOrNull(finding.stage)},
          {"share", Number(finding.share)},
          {"text", finding.text},
          {"evidence", evidence},
          {"where", PlaceTree(finding.where.file, finding.where.line)},
          {"diff", TextOrNull(findings::DiffOf(finding.changes))},
          {"by_hand", by_hand},
          {"recommendation", recommendation}};
}

Json BudgetTree(const std::vector<CheckRow>& budget) {
  Json rows = Json::array();
  for (const CheckRow& row : budget) {
    rows.push_back({{"metric", row.metric},
                    {"limit", row.limit},
                    {"level", WordFor(row.level)},
                    {"outcome", WordFor(row.outcome)},
                    {"value", OrNull(row.value)},
                    {"low", OrNull(row.low)},
                    {"high", OrNull(row.high)},
                    {"text", row.text}});
  }
  return rows;
}

template <class Rows, class Tree>
Json ListTree(const Rows& rows, Tree&& tree) {
  Json list = Json::array();
  for (const auto& row : rows) list.push_back(tree(row));
  return list;
}

Json ColdTree(const std::optional<ColdRow>& cold) {
  if (!cold.has_value()) return nullptr;
  return {{"steps_excluded", cold->steps},  {"ns", cold->ns},
          {"cost_ns", cold->cost_ns},       {"stage", cold->stage},
          {"slower", Number(cold->slower)}, {"cause", attribution::WordFor(cold->cause)}};
}

Json Change(const std::optional<compare::Change>& change) {
  if (!change.has_value()) return nullptr;
  const bool has_ratio = change->HasRatio();
  return {{"base", Number(change->base)},
          {"new", Number(change->now)},
          {"ratio", has_ratio ? Number(change->ratio) : Json(nullptr)},
          {"low", has_ratio && change->bounded ? Number(change->low) : Json(nullptr)},
          {"high", has_ratio && change->bounded ? Number(change->high) : Json(nullptr)}};
}

// --- What is null without being explained ---

// Null there means that there is no such thing, not that the trace cannot tell.
bool IsFigure(const std::string& path) {
  static const std::set<std::string> kChoices = {
      "run.digest",    "run.spec",      "run.device.kind", "run.device.name",  "stages[].queue",
      "verdict.stage", "verdict.cause", "verdict.also",    "window.cold_start"};
  return !path.starts_with("findings") && !path.starts_with("budget") &&
         !path.starts_with("comparison") && !path.starts_with("run.spec") &&
         !path.starts_with("run.job") && !path.starts_with("probe[]") &&
         !path.starts_with("stages[].ops") && !kChoices.contains(path);
}

// The figures that are null by path, those of rows with the names of the rows.
void Collect(const Json& tree, const std::string& path, const std::string& row,
             std::map<std::string, std::vector<std::string>>& missing) {
  if (tree.is_null()) {
    if (IsFigure(path)) missing[path].push_back(row);
  } else if (tree.is_object()) {
    for (const auto& [key, value] : tree.items()) {
      Collect(value, path.empty() ? key : path + "." + key, row, missing);
    }
  } else if (tree.is_array()) {
    for (const Json& value : tree) {
      const bool named = value.is_object() && value.contains("name") && value["name"].is_string();
      Collect(value, path + "[]", named ? value["name"].get<std::string>() : "", missing);
    }
  }
}

// A limit names a figure by its path, or begins with its last word.
bool Named(const std::vector<std::string>& limits, const std::string& path) {
  const std::string last = path.substr(path.rfind('.') + 1);
  const bool is_bound = last == "low" || last == "high";
  return std::any_of(limits.begin(), limits.end(), [&](const std::string& limit) {
    if (is_bound && limit.starts_with(kNoIntervals)) return true;
    return limit.find(path) != std::string::npos || limit.starts_with(last + ":");
  });
}

}  // namespace

Json PatchTree(const Patch& patch) {
  return Json::parse(WritePatch(patch, JsonLayout::kOneLine), nullptr, false);
}

Json ReportTree(const Report& report) {
  Json throughput;
  if (report.throughput.has_value()) {
    const bool bounded = report.throughput->bounded;
    throughput = {{"samples_per_s", Number(report.throughput->samples_per_s)},
                  {"low", bounded ? Number(report.throughput->low) : Json(nullptr)},
                  {"high", bounded ? Number(report.throughput->high) : Json(nullptr)}};
  }
  Json tree{{"schema", "stallscope.report/1"},
            {"run", RunTree(report)},
            {"trust", TrustTree(report.trust)},
            {"window",
             {{"start_ns", report.window_start_ns},
              {"end_ns", report.window_end_ns},
              {"steps", report.steps},
              {"warmup_steps_excluded", report.warmup_steps},
              {"probed_steps_excluded", report.probed_steps},
              {"profiled_of", report.profiled_of},
              {"profiled", report.profiled},
              {"part", report.first_epoch ? "first epoch" : "steady"},
              {"cold_start", ColdTree(report.cold)}}},
            {"throughput", throughput},
            {"step_time_ms", TimesTree(report.step_ms)},
            {"breakdown", BreakdownTree(report)},
            {"stall_blame", BlameTree(report.blame)},
            {"stages", ListTree(report.stages, StageTree)},
            {"probe", ListTree(report.probe, ProbeTree)},
            {"devices", ListTree(report.devices, DeviceTree)},
            {"kernels", KernelsTree(report.kernels)},
            {"idle", IdleTree(report.idle)},
            {"arithmetic", ArithmeticTree(report.arithmetic)},
            {"cpu", CpuTree(report.cpu)},
            {"memory", MemoryTree(report.memory)},
            {"stragglers", report.stragglers},
            {"verdict", VerdictTree(report.verdict)},
            {"findings", ListTree(report.findings, FindingTree)}};
  if (!report.beside.empty()) tree["beside_steps"] = ListTree(report.beside, BesideTree);
  if (report.budget.has_value()) tree["budget"] = BudgetTree(*report.budget);
  if (report.against_base.has_value()) tree["comparison"] = ComparisonTree(*report.against_base);
  return tree;
}

Json ComparisonTree(const compare::Comparison& comparison) {
  Json categories = Json::object();
  for (const attribution::Category category : attribution::kReportOrder) {
    categories[std::string(attribution::WordFor(category))] =
        Change(comparison.ms_per_step[attribution::At(category)]);
  }
  Json stages = Json::array();
  for (const compare::StageChange& stage : comparison.stages) {
    Json ops = Json::array();
    for (const compare::OpChange& op : stage.ops) {
      ops.push_back({{"name", op.name}, {"ms_per_call", Change(op.ms_per_call)}});
    }
    stages.push_back({{"name", stage.name},
                      {"service_ms", Change(stage.service_ms)},
                      {"busy_ms_per_step", Change(stage.busy_ms_per_step)},
                      {"capacity_samples_per_s", Change(stage.capacity_samples_per_s)},
                      {"ops", std::move(ops)}});
  }
  return {
      {"schema", "stallscope.comparison/1"},
      {"base_runs", comparison.base_runs},
      {"new_runs", comparison.new_runs},
      {"answer", compare::WordFor(comparison.answer)},
      {"text", comparison.text},
      {"method", comparison.method},
      {"p_value", OrNull(comparison.p_value)},
      {"throughput", Change(comparison.throughput)},
      {"step_time_ms",
       {{"mean", Change(comparison.step_mean_ms)},
        {"p50", Change(comparison.step_p50_ms)},
        {"p95", Change(comparison.step_p95_ms)},
        {"p99", Change(comparison.step_p99_ms)}}},
      {"ms_per_step", categories},
      {"stages", stages},
      {"spec_change", comparison.spec_change ? PatchTree(*comparison.spec_change) : Json(nullptr)},
      {"same_data", comparison.same_data},
      {"warnings", comparison.warnings}};
}

std::string WriteJson(const Report& report) { return JsonText(ReportTree(report)) + "\n"; }
std::string WriteJson(const compare::Comparison& comparison) {
  return JsonText(ComparisonTree(comparison)) + "\n";
}

void NameMissingFigures(Report& report) {
  std::map<std::string, std::vector<std::string>> missing;
  Collect(ReportTree(report), "", "", missing);
  // One line for all of a part of the report that is missing for the same rows.
  std::map<std::pair<std::string, std::string>, std::string> lines;
  for (const auto& [path, rows] : missing) {
    if (Named(report.trust.limits, path)) continue;
    std::string names;
    for (const std::string& row : rows) names += (names.empty() ? "" : ", ") + row;
    std::string& line = lines[{path.substr(0, path.find_first_of(".[")), names}];
    line += (line.empty() ? "" : ", ") + path;
  }
  for (const auto& [part, paths] : lines) {
    const std::string& rows = part.second;
    report.trust.limits.push_back(paths + ": not in this trace" +
                                  (rows.empty() ? "" : " for " + rows));
  }
}

}  // namespace stallscope::report
