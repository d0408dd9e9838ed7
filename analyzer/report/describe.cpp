#include "analyzer/report/describe.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/report/finding_cards.h"
#include "analyzer/report/job_section.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

using attribution::Category;
using Columns = std::vector<Table::Column>;

constexpr size_t kMostDevices = 32;

void AddSection(Document& document, std::string title, Block content) {
  document.blocks.push_back({Heading{std::move(title)}, content.in});
  document.blocks.push_back(std::move(content));
}

// --- The head ---

std::string DevicePhrase(const trace::DeviceInfo& device) {
  if (device.name.empty() || device.name == device.kind) return device.kind;
  return device.kind.empty() ? device.name : device.name + " (" + device.kind + ")";
}

// "200 steps in 12.0 s, after 2 of warm-up, on A100 (emulated)"
std::string WindowPhrase(const Report& report) {
  const std::string length = words::Duration(report.window_end_ns - report.window_start_ns);
  const std::string device = DevicePhrase(report.device);
  std::string text = report.steps == 0 ? "no steps, " + length
                     : report.profiled_of != 0
                         ? fmt::format("{} profiled steps of {}, in {}", report.steps,
                                       words::Grouped(report.profiled_of), length)
                         : words::Counted(report.steps, "step") + " in " + length;
  if (report.steps != 0 && report.steps_per_update > 1) {
    text += ", one update per " + words::Grouped(report.steps_per_update);
  }
  if (report.steps != 0 && report.warmup_steps != 0) {
    text += ", after " + words::Grouped(report.warmup_steps) + " of warm-up";
  }
  if (report.cold.has_value()) {
    text += ", excluding " + words::Grouped(report.cold->steps) + " of a cold start (" +
            std::string(attribution::WordFor(report.cold->cause)) + ")";
  }
  if (report.profiled != 0) {
    text += ", the device as in " + words::Grouped(report.profiled) + " profiled ones";
  }
  if (report.first_epoch) text += ", first epoch only";
  if (report.probed_steps != 0) {
    text += ", excluding " + words::Grouped(report.probed_steps) + " with slowed stages";
  }
  return device.empty() ? text : text + ", on " + device;
}

std::vector<Fact> FactsOf(const Report& report) {
  std::vector<Fact> facts;
  if (const auto& rate = report.throughput) {
    facts.push_back({words::Number(rate->samples_per_s) + " samples/s", "throughput",
                     rate->bounded ? words::Number(rate->low) + " to " + words::Number(rate->high)
                                   : std::string()});
  }
  if (const auto& step = report.step_ms) {
    facts.push_back({words::Number(step->p50) + " ms", "step time, median",
                     fmt::format("mean {}, p95 {}, p99 {}", words::Number(step->mean),
                                 words::NumberOrDash(step->p95), words::NumberOrDash(step->p99))});
  }
  if (const auto& stall = report.breakdown[attribution::At(Category::kInputStall)]) {
    facts.push_back({words::Percent(stall->fraction), "of step time stalled", ""});
  }
  if (!report.findings.empty() && report.findings[0].recommendation) {
    const GainText best = GainOf(*report.findings[0].recommendation);
    if (!best.factor.empty()) {
      facts.push_back(
          {best.factor, best.measured ? "best change, measured" : "best change, predicted", ""});
    }
  }
  return facts;
}

Head HeadOf(const Report& report) {
  Head head;
  head.trust = report.trust.line;
  head.complete = report.trust.complete;
  head.warnings = report.trust.warnings;
  head.title = report.verdict.text;
  if (!report.verdict.also.empty()) head.notes.push_back(report.verdict.also);
  if (report.verdict.bound != findings::Bound::kInconclusive) {
    head.notes.push_back(fmt::format("confidence {:.0f}%", report.verdict.confidence * 100));
  }
  head.notes.insert(head.notes.end(), report.verdict.doubts.begin(), report.verdict.doubts.end());
  head.notes.insert(head.notes.end(), report.trust.assumed.begin(), report.trust.assumed.end());
  head.name = report.name;
  head.path = report.trace;
  head.what = WindowPhrase(report);
  head.facts = FactsOf(report);
  return head;
}

// --- Tables ---

Table BlameTable(const Report& report) {
  Table table{{{"stage", false, true}, {"cause"}, {"time", true}, {"share", true}}, {}, "row"};
  for (const BlameRow& row : report.blame) {
    table.rows.push_back({row.stage, std::string(attribution::WordFor(row.cause)),
                          words::Duration(row.ns), words::Percent(row.fraction)});
  }
  return table;
}

// "1.5 of 4", "1.5" where the capacity is unknown.
std::string QueuePhrase(const std::optional<QueueRow>& queue) {
  if (!queue.has_value()) return std::string(words::kUnknown);
  const std::string mean = words::NumberOrDash(queue->mean);
  return queue->capacity ? mean + " of " + words::Grouped(*queue->capacity) : mean;
}

Table StageTable(const Report& report) {
  Table table{{{"stage", false, true},
               {"kind"},
               {"workers", true},
               {"elements", true, false, kInHtml},
               {"service ms", true},
               {"busy", true},
               {"capacity/s", true},
               {"starved", true},
               {"blocked", true},
               {"CPU s", true, false, kInHtml},
               {"queue", true}},
              {},
              ""};
  for (const StageRow& stage : report.stages) {
    std::optional<double> service;
    if (stage.service_ms) service = stage.service_ms->mean;
    table.rows.push_back({stage.name, stage.kind, words::CountOrDash(stage.parallelism),
                          words::CountOrDash(stage.elements), words::NumberOrDash(service),
                          words::PercentOrDash(stage.utilization),
                          words::NumberOrDash(stage.capacity_samples_per_s),
                          words::PercentOrDash(stage.starved), words::PercentOrDash(stage.blocked),
                          words::NumberOrDash(stage.cpu_s), QueuePhrase(stage.queue)});
  }
  return table;
}

// The cost of slowing a stage by a tenth is easier to read than an elasticity.
Table ProbeTable(const Report& report) {
  Table table{{{"stage", false, true},
               {"slowed by", true},
               {"windows", true},
               {"sensitivity", true},
               {"95% interval"},
               {"10% slower costs", true}},
              {},
              ""};
  for (const ProbeRow& row : report.probe) {
    const std::string interval =
        row.low.has_value() ? fmt::format("{:.2f} to {:.2f}", *row.low + 0.0, *row.high + 0.0)
                            : std::string(words::kUnknown);
    table.rows.push_back({row.stage, fmt::format("{:.0f}%", 100 * row.slowed_by),
                          words::Grouped(row.windows), fmt::format("{:.2f}", row.mean), interval,
                          words::Percent(std::max(0.0, 1 - std::pow(1.1, row.mean)))});
  }
  return table;
}

Table BesideTable(const Report& report) {
  Table table{{{"what", false, true}, {"count", true}, {"time", true}, {"share", true}}, {}, ""};
  for (const attribution::BesideUse& use : report.beside) {
    table.rows.push_back({use.name, words::Grouped(use.count), words::Duration(use.ns),
                          words::Percent(use.fraction)});
  }
  return table;
}

std::string CopyWord(const attribution::CopyUse& copy) {
  constexpr std::array<const char*, 3> kDirections = {"h2d", "d2h", "d2d"};
  constexpr std::array<const char*, 3> kMemory = {"", ", pinned", ", pageable"};
  return std::string("copies ") + kDirections[static_cast<size_t>(copy.direction)] +
         kMemory[static_cast<size_t>(copy.memory)];
}

std::string CopyDetail(const attribution::CopyUse& copy) {
  if (copy.bytes == 0) return "";  // TensorFlow 1's timelines have no sizes
  if (copy.ns <= 0) return words::Bytes(copy.bytes);
  const double per_ns = static_cast<double>(copy.bytes) / static_cast<double>(copy.ns);
  return words::Bytes(copy.bytes) + ", " + words::BytesPerSecond(per_ns * 1e9);
}

Table DeviceTable(const Report& report) {
  Table table{{{"device", false, true}, {""}, {"count", true}, {"time", true}, {"bytes"}}, {}, ""};
  for (size_t i = 0; i < std::min(report.devices.size(), kMostDevices); ++i) {
    const attribution::DeviceUse& device = report.devices[i];
    table.rows.push_back({fmt::format("{}: {}", device.device, device.name), "busy", "",
                          words::Duration(device.busy_ns), ""});
    table.rows.push_back(
        {"", "kernels", words::Grouped(device.kernels), words::Duration(device.kernel_ns), ""});
    for (const attribution::CopyUse& copy : device.copies) {
      table.rows.push_back({"", CopyWord(copy), words::Grouped(copy.count),
                            words::Duration(copy.ns), CopyDetail(copy)});
    }
  }
  return table;
}

Table KernelTable(const Report& report) {
  Table table{
      {{"kernel", false, true}, {"count", true}, {"time", true}, {"share", true}}, {}, "kernel"};
  for (const KernelRow& kernel : report.kernels) {
    table.rows.push_back({words::KernelName(kernel.name), words::Grouped(kernel.count),
                          words::Duration(kernel.ns), words::Percent(kernel.fraction)});
  }
  return table;
}

std::string ArithmeticPhrase(const attribution::Arithmetic& arithmetic) {
  std::string text = fmt::format("computed {} per step: {}/s, {}/s while a device computes",
                                 words::Flops(static_cast<double>(arithmetic.flops_per_step)),
                                 words::Flops(arithmetic.flops_per_s),
                                 words::Flops(arithmetic.flops_per_s_computing));
  if (arithmetic.fraction_of_peak.has_value()) {
    text += ", " + words::Percent(*arithmetic.fraction_of_peak) + " of the peak";
  }
  return text;
}

std::string IdlePhrase(const attribution::DeviceIdle& idle, size_t devices) {
  std::string text;
  const auto add = [&](int64_t ns, const char* why) {
    if (ns > 0) text += (text.empty() ? ": " : ", ") + words::Duration(ns) + " " + why;
  };
  add(idle.input_ns, "for input");
  add(idle.launch_ns, "for launches");
  add(idle.sync_ns, "while the host waited for the device");
  add(idle.other_ns, "for other reasons");
  const std::string of = devices > 1 ? fmt::format(" in all, {} devices", devices) : "";
  return "idle for " + words::Duration(idle.ns) + of + text;
}

void AddDevices(const Report& report, Document& document) {
  if (report.devices.empty()) return;
  constexpr Forms kIn = kInText | kInHtml;
  const bool emulated = report.device.emulated();
  AddSection(document,
             std::string("Devices, over the whole trace") + (emulated ? ", emulated" : ""),
             {DeviceTable(report), kIn});
  const auto add = [&](std::string text) {
    document.blocks.push_back({Paragraph{std::move(text)}, kIn});
  };
  if (report.devices.size() > kMostDevices) {
    add(AndMore(report.devices.size(), kMostDevices, "device"));
  }
  if (!report.kernels.empty())
    AddSection(document,
               report.profiled != 0 ? "Kernels, in the profiled steps" : "Kernels, in the window",
               {KernelTable(report), kIn});
  if (report.arithmetic.has_value()) add(ArithmeticPhrase(*report.arithmetic));
  if (report.idle.ns > 0) add(IdlePhrase(report.idle, report.devices.size()));
}

void AddMemory(const MemoryRow& memory, Document& document) {
  Table table{{{"memory"}, {"at most", true}}, {}, ""};
  const auto add = [&](std::string what, const std::optional<uint64_t>& bytes) {
    if (bytes) table.rows.push_back({std::move(what), words::Bytes(*bytes)});
  };
  add("process", memory.peak_rss_bytes);
  add("device", memory.device_peak_bytes);
  for (const auto& [name, bytes] : memory.stages) {
    if (bytes != 0) add("held by " + name, bytes);
  }
  if (table.rows.empty()) return;
  add("limit", memory.limit_bytes);
  AddSection(document, "Memory", {std::move(table), kInText | kInHtml});
}

// --- Findings ---

void AddFindings(const Report& report, Document& document) {
  if (report.findings.empty()) {
    AddSection(document, "Findings", {Paragraph{"none"}, kInText | kInHtml});
    return;
  }
  FindingCards findings;
  for (const FindingRow& finding : report.findings) {
    findings.cards.push_back(CardOf(finding, report, findings.cards.size() + 1));
  }
  AddSection(document, "Findings", {std::move(findings)});
}

struct BudgetCounts {
  size_t errors = 0;
  size_t warnings = 0;
  size_t inconclusive = 0;  // of level error
};

BudgetCounts CountChecks(const std::vector<CheckRow>& checks) {
  BudgetCounts counts;
  for (const CheckRow& check : checks) {
    const bool error = check.level == CheckLevel::kError;
    if (check.outcome == Outcome::kFail) ++(error ? counts.errors : counts.warnings);
    if (check.outcome == Outcome::kInconclusive && error) ++counts.inconclusive;
  }
  return counts;
}

// "5 of 6 checks held, 1 failed"
std::string BudgetPhrase(const std::vector<CheckRow>& checks) {
  const auto passed = std::count_if(checks.begin(), checks.end(), [](const CheckRow& check) {
    return check.outcome == Outcome::kPass;
  });
  const BudgetCounts counts = CountChecks(checks);
  std::string text = fmt::format("{} of {} checks held", passed, checks.size());
  if (counts.errors != 0) text += fmt::format(", {} failed", counts.errors);
  if (counts.warnings != 0) text += fmt::format(", {} warned", counts.warnings);
  if (counts.inconclusive != 0) text += fmt::format(", {} inconclusive", counts.inconclusive);
  return text;
}

void AddBudget(const std::vector<CheckRow>& checks, Document& document) {
  List list;
  for (const CheckRow& check : checks) {
    const bool passed = check.outcome == Outcome::kPass;
    const char* level = check.level == CheckLevel::kWarn ? " (warn)" : "";
    list.items.push_back({std::string(WordFor(check.outcome)) + level, check.text,
                          passed ? Tone::kGood : Tone::kBad});
  }
  AddSection(document, "Budget: " + BudgetPhrase(checks), {std::move(list)});
}

List ListOf(const std::vector<std::string>& texts, const char* tag = "") {
  List list;
  for (const std::string& text : texts) list.items.push_back({tag, text, Tone::kPlain});
  return list;
}

// --- Comparisons ---

// "12.9% more (+11.0% to +14.9%)"; the interval where there is one.
std::string ChangePhrase(const compare::Change& change) {
  if (!change.HasRatio() || !std::isfinite(change.ratio)) return "new";
  const double more = change.ratio - 1;
  std::string text = words::Percent(std::fabs(more)) + (more < 0 ? " less" : " more");
  if (std::fabs(more) < 0.0005) text = "the same";
  if (change.bounded) {
    text += fmt::format(" ({} to {})", words::SignedPercent(change.low - 1),
                        words::SignedPercent(change.high - 1));
  }
  return text;
}

void AddChange(Table& table, const std::string& name,
               const std::optional<compare::Change>& change) {
  if (!change.has_value() || (change->base == 0 && change->now == 0)) return;
  table.rows.push_back(
      {name, words::Number(change->base), words::Number(change->now), ChangePhrase(*change)});
}

// What follows the answer.
void AddComparison(const compare::Comparison& comparison, Document& document) {
  const auto add = [&](auto block) { document.blocks.push_back({std::move(block)}); };
  const Columns columns = {{""}, {"base", true}, {"new", true}, {"change"}};
  add(Paragraph{comparison.text});
  if (!comparison.warnings.empty()) add(ListOf(comparison.warnings, "warning"));
  Table run{columns, {}, ""};
  AddChange(run, "samples/s", comparison.throughput);
  AddChange(run, "step mean, ms", comparison.step_mean_ms);
  AddChange(run, "step p50, ms", comparison.step_p50_ms);
  AddChange(run, "step p95, ms", comparison.step_p95_ms);
  AddChange(run, "step p99, ms", comparison.step_p99_ms);
  for (const Category category : attribution::kReportOrder) {
    AddChange(run, std::string(LookOf(category).word) + ", ms per step",
              comparison.ms_per_step[attribution::At(category)]);
  }
  if (!run.rows.empty()) add(std::move(run));
  Table stages{columns, {}, ""};
  stages.columns[0] = {"stage", false, true};
  for (const compare::StageChange& stage : comparison.stages) {
    AddChange(stages, stage.name + ", service ms", stage.service_ms);
    AddChange(stages, stage.name + ", busy ms per step", stage.busy_ms_per_step);
    AddChange(stages, stage.name + ", capacity/s", stage.capacity_samples_per_s);
    for (const compare::OpChange& op : stage.ops) {
      AddChange(stages, stage.name + ", " + op.name + ", ms per call", op.ms_per_call);
    }
  }
  if (!stages.rows.empty()) add(std::move(stages));
  if (comparison.spec_change.has_value()) {
    const std::string patch = PatchText(*comparison.spec_change);
    if (patch.empty()) {
      add(Paragraph{"The settings are the same."});
    } else {
      add(Code{"what the new side changes", "json", patch});
    }
  }
  if (!comparison.same_data) add(Paragraph{"The two sides delivered different data.", Tone::kBad});
}

std::string FooterOf(const Report& report) {
  std::string text = "stallscope report of " + report.trace;
  if (!report.host.cpu.empty()) text += ", recorded on " + report.host.cpu;
  if (!report.digest.empty()) text += ", digest " + report.digest;
  return text;
}

// "31 (72%), 28 (14%)": the slowest lines of an op.
std::string LinesOf(const attribution::OpUse& op) {
  constexpr size_t kMostLines = 3;
  constexpr double kLeastShare = 0.05;
  std::string text;
  for (size_t i = 0; i < std::min(op.lines.size(), kMostLines); ++i) {
    const attribution::OpLine& line = op.lines[i];
    if (line.share < kLeastShare) break;
    text +=
        fmt::format("{}{} ({})", text.empty() ? "" : ", ", line.line, words::Percent(line.share));
  }
  return text;
}

bool ShowsLines(const Report& report) {
  return std::any_of(report.stages.begin(), report.stages.end(), [](const StageRow& stage) {
    return std::any_of(stage.ops.begin(), stage.ops.end(),
                       [](const attribution::OpUse& op) { return !op.lines.empty(); });
  });
}

}  // namespace

Table OpTable(const Report& report) {
  constexpr size_t kMostOps = 8;  // of a stage
  const bool lines = ShowsLines(report);
  Table table{{{"stage", false, true},
               {"op", false, true},
               {"where", false, true},
               {"of stage", true},
               {"calls", true},
               {"time", true},
               {"on CPU", true}},
              {},
              "op"};
  if (lines) table.columns.push_back({"slowest lines", false, true});
  for (const StageRow& stage : report.stages) {
    for (size_t i = 0; i < std::min(stage.ops.size(), kMostOps); ++i) {
      const attribution::OpUse& op = stage.ops[i];
      const std::optional<int64_t> cpu_ns = stage.CpuNsOf(op);
      table.rows.push_back({stage.name, op.name, words::PlaceInCode(op.file, op.line),
                            words::PercentOrDash(stage.ShareOf(op)), words::Grouped(op.count),
                            words::Duration(op.ns),
                            cpu_ns ? words::Duration(*cpu_ns) : std::string(words::kUnknown)});
      if (lines) table.rows.back().push_back(LinesOf(op));
    }
  }
  return table;
}

Document DocumentOf(const Report& report) {
  const std::string name = report.name.empty() ? report.trace : report.name;
  Document document{report.verdict.text + " - " + name, HeadOf(report), {}, FooterOf(report)};
  const auto add = [&](const char* title, Block content) {
    AddSection(document, title, std::move(content));
  };
  constexpr Forms kIn = kInText | kInHtml;
  if (report.budget.has_value()) AddBudget(*report.budget, document);
  if (report.against_base.has_value()) {
    document.blocks.push_back({Heading{
        "Against the base: " + std::string(compare::WordFor(report.against_base->answer))}});
    AddComparison(*report.against_base, document);
  }
  const bool emulated = report.device.emulated();
  const bool any = std::any_of(report.breakdown.begin(), report.breakdown.end(),
                               [](const auto& total) { return total.has_value(); });
  add("Where the step time goes",
      {BreakdownFigure{report.breakdown, emulated}, any ? kInAll : kInHtml});
  const Pictures& pictures = report.pictures;
  add("Over time", {LanesFigure{pictures.lanes, pictures.end_ns - pictures.start_ns}, kInHtml});
  if (!report.blame.empty()) add("What the stall waited for", {BlameTable(report)});
  if (!report.beside.empty()) {
    const bool of_run = report.profiled_of != 0 || report.profiled != 0;
    add(of_run ? "Of the run, no training" : "Of that, no training", {BesideTable(report)});
  }
  if (!report.probe.empty()) add("What slowing each stage cost", {ProbeTable(report)});
  AddFindings(report, document);
  if (!report.stages.empty()) {
    add("Stages", {StageGraphFigure{report.stages}, kIn});
    document.blocks.push_back({StageTable(report), kIn});
    Table ops = OpTable(report);
    if (!ops.rows.empty()) add("Ops", {std::move(ops), kIn});
  }
  AddJob(report, document);
  add("Step times", {StepTimesFigure{pictures.step_ms}, kInHtml});
  if (!report.stragglers.empty()) {
    add("Longest waits for one element", {ListOf(report.stragglers), kIn});
  }
  AddDevices(report, document);
  AddMemory(report.memory, document);
  if (!report.trust.limits.empty()) {
    document.blocks.push_back({Heading{"What this trace cannot show", true}});
    document.blocks.push_back({ListOf(report.trust.limits)});
  }
  return document;
}

Document DocumentOf(const compare::Comparison& comparison) {
  using compare::Answer;
  const bool bad =
      comparison.answer == Answer::kSlower || comparison.answer == Answer::kInconclusive;
  Document document;
  document.page_title = document.head.title = compare::WordFor(comparison.answer);
  document.head.tone = bad ? Tone::kBad : Tone::kGood;
  AddComparison(comparison, document);
  return document;
}

}  // namespace stallscope::report
