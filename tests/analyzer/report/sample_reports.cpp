#include "tests/analyzer/report/sample_reports.h"

#include <cmath>

#include "analyzer/base/math.h"
#include "tests/support/random.h"

namespace stallscope::test {
namespace {

using attribution::Category;
using attribution::Cause;
using report::Report;
using report::StageRow;

constexpr int64_t kStart = 5'000'000'000;
constexpr int64_t kWindow = 12'000'000'000;

StageRow Stage(const std::string& name, const std::string& kind, const std::string& input,
               double service_ms, double utilization, double capacity) {
  StageRow row;
  row.name = name;
  row.kind = kind;
  if (!input.empty()) row.inputs = {input};
  row.parallelism = 1;
  row.elements = 3200;
  row.service_ms =
      report::Times{service_ms, service_ms * 0.94, service_ms * 1.4, service_ms * 2.1, 0.2};
  row.utilization = utilization;
  row.capacity_samples_per_s = capacity;
  row.starved = std::max(0.0, 0.9 - utilization);
  row.blocked = 0.01;
  row.cpu_s = service_ms * 3.2;
  row.bytes = 350'000'000;
  row.queue = report::QueueRow{4, 1.5, 0.4, 0.1};
  return row;
}

void SetBreakdown(Report& report, std::vector<std::pair<Category, double>> shares) {
  int64_t left = report.window_end_ns - report.window_start_ns;
  const double window = static_cast<double>(left);
  for (auto& total : report.breakdown) total = attribution::CategoryTotal{};
  for (const auto& [category, share] : shares) {
    auto& total = *report.breakdown[attribution::At(category)];
    total.ns = std::llround(share * window);
    total.fraction = share;
    total.low = share * 0.97;
    total.high = share * 1.03;
    left -= total.ns;
  }
  auto& other = *report.breakdown[attribution::At(Category::kOther)];
  other.ns += left;
  other.fraction = static_cast<double>(other.ns) / window;
  other.low = other.fraction * 0.9;
  other.high = other.fraction * 1.1;
}

void SetPictures(Report& report, double stall_share) {
  constexpr size_t kColumns = 240;
  Random random(3);
  const auto uniform = [&] { return static_cast<double>(random.Below(1000)) / 1000; };
  report.pictures.start_ns = report.window_start_ns;
  report.pictures.end_ns = report.window_end_ns;
  timeline::Lane device{"device 0", {}, {}};
  for (const Category category : attribution::kReportOrder) {
    device.layers.emplace_back(attribution::WordFor(category));
    device.busy.emplace_back(kColumns);
  }
  for (size_t column = 0; column < kColumns; ++column) {
    const double stall = std::min(0.95, stall_share * (0.7 + 0.6 * uniform()));
    device.busy[4][column] = static_cast<float>(stall);
    device.busy[1][column] = static_cast<float>((1 - stall) * 0.06);
    device.busy[0][column] = static_cast<float>((1 - stall) * 0.88);
    device.busy[6][column] = static_cast<float>((1 - stall) * 0.06);
  }
  report.pictures.lanes.push_back(std::move(device));
  for (const StageRow& stage : report.stages) {
    timeline::Lane lane{stage.name, {"work", "empty", "full", "wait"}, {}};
    lane.busy.assign(4, std::vector<float>(kColumns));
    for (size_t column = 0; column < kColumns; ++column) {
      const double work = std::min(1.0, stage.utilization.value_or(0) * (0.9 + 0.2 * uniform()));
      lane.busy[0][column] = static_cast<float>(work);
      lane.busy[1][column] = static_cast<float>((1 - work) * 0.8);
      lane.busy[2][column] = static_cast<float>((1 - work) * 0.1);
    }
    report.pictures.lanes.push_back(std::move(lane));
  }
  for (uint64_t i = 0; i < report.steps; ++i) {
    const double spread = uniform() + uniform() + uniform() - 1.5;
    report.pictures.step_ms.push_back(60 + 6 * spread + (random.OneIn(40) ? 25 : 0));
  }
}

report::FindingRow MoreWorkers() {
  report::FindingRow finding;
  finding.id = "map-parallelism";
  finding.severity = findings::Severity::kHigh;
  finding.stage = "decode";
  finding.share = 0.382;
  finding.text =
      "decode decodes one image at a time: its one worker is busy 98% of the time, and two cores "
      "have nothing to do. Every stage behind it waits.";
  finding.evidence = {{"spans",
                       "decode",
                       kStart + 40'000'000,
                       kStart + 400'000'000,
                       {},
                       "decode: 1 worker busy 98.2% of the window"},
                      {"step", "", kStart + 2'000'000'000, kStart + 2'060'000'000, 34,
                       "step 34 waited 41 ms for its batch"}};
  findings::Recommendation advice;
  advice.text = "set decode.parallelism to 4";
  advice.patch.changes = {SetTo("decode.parallelism", 4)};
  advice.gain = findings::Gain{1.58, 1.49, 1.63};
  advice.measured = findings::Measurement{1.55, 1.48, 1.61, 3, "", {}};
  advice.memory_bytes = 12'582'912;
  advice.code.tf_data =
      "dataset = dataset.map(\n    decode,\n    num_parallel_calls=4,\n    deterministic=True)";
  advice.code.pytorch = "loader = DataLoader(dataset, batch_size=16, num_workers=4)";
  advice.code.dali = "pipe = pipeline(batch_size=16, num_threads=4, device_id=0)";
  advice.code.grain =
      "dataset = dataset.map(decode).to_iter_dataset(\n    "
      "read_options=grain.ReadOptions(num_threads=4))";
  finding.recommendation = advice;
  return finding;
}

report::FindingRow CacheIt() {
  report::FindingRow finding;
  finding.id = "cache";
  finding.severity = findings::Severity::kMedium;
  finding.stage = "decode";
  finding.share = 0.31;
  finding.text = "decode does the same work in every epoch; what it makes fits into memory.";
  finding.evidence = {{"counter", "rss", 0, 0, {}, "1.1 GiB of 8.0 GiB are in use"}};
  findings::Recommendation advice;
  advice.text = "insert a cache in memory after decode";
  StageSpec cache;
  cache.name = "cache";
  cache.kind = CacheSpec{.max_bytes = 2'000'000'000};
  advice.patch.changes = {InsertChange{cache, Place::After("decode")}};
  advice.gain = findings::Gain{1.31, 1.12, 1.44};
  advice.memory_bytes = 1'932'735'283;
  advice.code.tf_data = "dataset = dataset.map(decode).cache()";
  finding.recommendation = advice;
  return finding;
}

report::FindingRow NarrowFormat() {
  report::FindingRow finding;
  finding.id = "file-format";
  finding.severity = findings::Severity::kInfo;
  finding.stage = "read";
  finding.text = "3,200 small files are opened one by one.";
  findings::Recommendation advice;
  advice.text = "pack the images into TFRecord files";
  advice.unpriced = "no probe of the other format was run; record one";
  finding.recommendation = advice;
  return finding;
}

void SetRun(Report& report) {
  report.name = "images";
  report.trace = "runs/images.sst";
  report.format = "sst";
  report.digest = "9f0c3a5577aa1b2c9f0c3a5577aa1b2c";
  report.host = {"node-7", "6.1.0", "AMD EPYC 7B13", 8, 4, 4.0, 16'000'000'000, 8'589'934'592};
  report.device = {"emulated", "A100 (ResNet-50)", 0, ""};
  report.spec_json =
      R"({"name":"images","stages":[{"name":"read","source":{"files":["data/*"]}}]})";
  report.trust = {
      "complete: 41,726 spans, none dropped, no damage", true, 41'726, 0, 0, {}, {}, {}};
  report.window_start_ns = kStart;
  report.window_end_ns = kStart + kWindow;
  report.steps = 200;
  report.warmup_steps = 2;
  report.throughput = attribution::Throughput{266.7, 261.2, 272.4};
  report.step_ms = report::Times{60, 59.4, 68.1, 84.2, 0.08};
  report.devices = {{0,
                     0,
                     "A100",
                     6'910'000'000,
                     4400,
                     6'520'000'000,
                     {{trace::CopyDirection::kHostToDevice, trace::CopyMemory::kPinned, 202,
                       486'539'264, 390'000'000}}}};
  report.kernels = {{"train_step", 2200, 5'900'000'000, 0.905},
                    {"sgemm_128x64", 2200, 620'000'000, 0.095}};
  report.idle = {5'090'000'000, 60'000'000, 4'700'000'000, 0, 330'000'000, 0.4, 400};
  report.arithmetic =
      attribution::Arithmetic{52'300'000'000, 871'700'000'000.0, 1.61e12, 19.5e12, 0.0447};
  report.cpu = {4.0, 1.42, 0.03, 0.0, 0.01, 29'000'000.0, 1'200'000.0, {}};
  report.memory.peak_rss_bytes = 1'181'116'006;
  report.memory.limit_bytes = 8'589'934'592;
  report.memory.stages = {{"shuffle", 7'168'000}, {"prefetch", 4'816'896}};
}

std::vector<StageRow> SevenStages() {
  std::vector<StageRow> stages = {Stage("read", "source", "", 0.21, 0.06, 4'700),
                                  Stage("shuffle", "shuffle", "read", 0.004, 0.001, 240'000),
                                  Stage("again", "repeat", "shuffle", 0.001, 0.0003, 900'000),
                                  Stage("decode", "map", "again", 3.68, 0.982, 272),
                                  Stage("augment", "map", "decode", 0.41, 0.11, 2'440),
                                  Stage("batch", "batch", "augment", 1.9, 0.03, 8'400),
                                  Stage("prefetch", "prefetch", "batch", 0.02, 0.0004, 780'000)};
  stages[3].starved = 0.008;
  stages[5].queue.reset();
  return stages;
}

}  // namespace

Report InputBoundReport() {
  Report report;
  SetRun(report);
  SetBreakdown(report, {{Category::kCompute, 0.5412},
                        {Category::kTransfer, 0.0308},
                        {Category::kLaunch, 0.005},
                        {Category::kInputStall, 0.4011},
                        {Category::kSync, 0.0052}});
  report.breakdown[attribution::At(Category::kCommunication)] = attribution::CategoryTotal{};
  const int64_t stall = report.breakdown[attribution::At(Category::kInputStall)]->ns;
  const int64_t read = 212'345'678;
  const int64_t order = 12'345'677;
  const auto share = [](int64_t ns) { return static_cast<double>(ns) / kWindow; };
  report.blame = {{"decode", Cause::kCpu, stall - read - order, share(stall - read - order)},
                  {"read", Cause::kIo, read, share(read)},
                  {"decode", Cause::kOrder, order, share(order)}};
  report.stages = SevenStages();
  report.probe = {{"decode", -0.93, -1.04, -0.82, 8, 0.25},
                  {"trainer", -0.04, -0.13, 0.05, 8, 0.25},
                  {"read", 0.02, {}, {}, 1, 0.25}};
  report.stragglers = {
      "step 34 waited 41.0 ms, 38.2 ms of it for element 13911 (data/3.tfrecord, record 117) in "
      "decode (cpu)"};
  report.verdict = {findings::Bound::kInput,     "decode", Cause::kCpu, 0.96, {},
                    "input-bound: decode (cpu)", ""};
  report.findings = {MoreWorkers(), CacheIt(), NarrowFormat()};
  SetPictures(report, 0.4);
  report::NameMissingFigures(report);
  return report;
}

Report BalancedReport() {
  Report report;
  SetRun(report);
  SetBreakdown(report, {{Category::kCompute, 0.84},
                        {Category::kTransfer, 0.052},
                        {Category::kLaunch, 0.011},
                        {Category::kInputStall, 0.051},
                        {Category::kSync, 0.02}});
  report.breakdown[attribution::At(Category::kCommunication)].reset();
  report.stages = SevenStages();
  report.stages[3] = Stage("decode", "map", "again", 3.1, 0.61, 640);
  report.blame = {{"decode", Cause::kBuffer,
                   report.breakdown[attribution::At(Category::kInputStall)]->ns, 0.051}};
  report.verdict = {findings::Bound::kBalanced, "", {}, 0.82, {"19 steps only"}, "balanced", ""};
  SetPictures(report, 0.05);
  report::NameMissingFigures(report);
  return report;
}

Report InconclusiveReport() {
  Report report;
  report.trace = "broken.json.gz";
  report.format = "chrome";
  report.trust = {"incomplete: 40 spans read, 9,000 events dropped, 2.0 KiB damaged",
                  false,
                  40,
                  9'000,
                  2'048,
                  {"broken.json.gz, offset 812: the file ends inside an event"},
                  {"communication: the trace does not say what a kernel is for"},
                  {}};
  report.window_start_ns = 0;
  report.window_end_ns = 1'000'000;
  report.steps = 2;
  report.breakdown[attribution::At(Category::kCompute)] =
      attribution::CategoryTotal{900'000, 0.9, 0.0, 1.0};
  report.breakdown[attribution::At(Category::kOther)] =
      attribution::CategoryTotal{100'000, 0.1, 0.0, 1.0};
  StageRow stage;
  stage.name = "Iterator::Map";
  stage.kind = "map";
  stage.parallelism = 1;
  stage.queue = report::QueueRow{2, {}, {}, {}};
  report.stages = {stage};
  report.verdict = {
      findings::Bound::kInconclusive, "", {}, 0, {"2 steps are fewer than 3"}, "inconclusive", ""};
  report::NameMissingFigures(report);
  return report;
}

// A finding with a diff, and a setting that a diff cannot express.
static void AddFindingOfTheCall(Report& report) {
  report::FindingRow finding;
  finding.id = "loader-workers";
  finding.severity = findings::Severity::kHigh;
  finding.stage = "fetch";
  finding.share = 0.482;
  finding.text = "48.2% of step time is spent waiting for fetch";
  finding.where = {"/home/u/train.py", 41};
  findings::Recommendation advice;
  advice.text = "load in 4 worker processes: num_workers=4";
  advice.patch.changes.emplace_back(SetTo("loader.num_workers", 4));
  advice.unpriced = "record it";
  finding.recommendation = advice;
  findings::SourceChange change;
  change.file = "/home/u/train.py";
  change.line = 41;
  change.lines = {{40, "data = Images()\nloader = DataLoader(data, num_workers=2)\nmodel = Net()\n",
                   "data = Images()\nloader = DataLoader(data, num_workers=4)\nmodel = Net()\n"}};
  change.diff =
      "--- a/train.py\n+++ b/train.py\n@@ -40,3 +40,3 @@\n data = Images()\n"
      "-loader = DataLoader(data, num_workers=2)\n+loader = DataLoader(data, num_workers=4)\n"
      " model = Net()\n";
  change.by_hand = {"set in_order=False by hand: the call at train.py:41 passes **options"};
  finding.changes = {change};
  report.findings.push_back(std::move(finding));
}

Report JobReport(uint64_t workers) {
  Report report;
  report.name = "train.py";
  report.trace = "train.sst";
  report.format = "sst";
  report.trust.line = "complete: 9,321 spans, none dropped, no damage";
  report.trust.complete = true;
  report.trust.spans = 9321;
  report.window_start_ns = kStart;
  report.window_end_ns = kStart + kWindow;
  report.steps = 200;
  SetBreakdown(report, {{Category::kInputStall, 0.482}, {Category::kCompute, 0.518}});
  report.blame = {{"fetch", Cause::kBlocked, 5'784'000'000, 0.482}};
  report.stages = {Stage("fetch", "map", "", 101, 0.97, 344),
                   Stage("transport", "transport", "fetch", 1.01, 0.03, 23'274),
                   Stage("loader", "prefetch", "transport", 1, 0, 1),
                   Stage("trainer", "trainer", "loader", 24.5, 0.47, 601)};
  report.stages[0].sampled_ns = 2'000'000'000;
  report.stages[0].ops = {{"Store.get",
                           "/home/u/train.py",
                           17,
                           318,
                           1'940'000'000,
                           15'000'000,
                           {{19, 0.91, 96}, {21, 0.06, 96}, {18, 0.03, 96}}},
                          {"Resize", "", 0, 318, 20'000'000, 19'000'000}};
  report.verdict = {findings::Bound::kInput,        "fetch", Cause::kBlocked, 1, {},
                    "input-bound: fetch (blocked)", ""};
  report.job = {{"python", "train.py", "--note", "it's mine"}, "3.11.2", {{"torch", "2.9.0"}}, 137};
  report.folder = "/home/u";
  model::Loader loader;
  loader.name = "loader";
  loader.steps = 200;
  loader.info.kind = "torch.utils.data.DataLoader";
  loader.info.dataset = "Images";
  loader.info.file = "/home/u/train.py";
  loader.info.line = 41;
  AddFindingOfTheCall(report);
  loader.info.settings_json = R"({"batch_size":16,"collate_fn":"default_collate",
      "num_workers":2,"persistent_workers":false,"prefetch_factor":2,"worker_init_fn":null})";
  report.loaders = {loader};
  loader.name = "loader2";
  loader.steps = 0;
  loader.info.file.clear();
  loader.info.settings_json = "not JSON";
  report.loaders.push_back(loader);
  report.processes = {{"train.py",
                       700,
                       13'000'000'000,
                       {ProcessId{0}, 9'100'000'000, 120'000'000, 12'000'000, 0, 900'000'000}}};
  for (uint64_t i = 0; i < workers; ++i) {
    const auto scale = static_cast<int64_t>(i);
    attribution::ProcessUse use;
    use.process = ProcessId{static_cast<uint32_t>(i + 1)};
    use.cpu_ns = 800'000'000 + 10'000'000 * scale;
    use.read_bytes = 70'000'000;
    use.peak_rss_bytes = 250'000'000 + 1'000'000 * i;
    report.processes.push_back({"worker " + std::to_string(i), 711 + i, 12'000'000'000, use});
  }
  return report;
}

Report ReportNamed(const std::string& text) {
  Report report = InputBoundReport();
  report.job = {{text, text}, text, {{text, text}}, 1};
  report.folder = text;
  report.loaders = JobReport(0).loaders;
  for (model::Loader& loader : report.loaders) {
    loader.name = loader.info.kind = loader.info.dataset = loader.info.file = text;
  }
  report.processes = JobReport(30).processes;
  for (report::ProcessRow& process : report.processes) process.name = text;
  for (auto& row : report.stages) row.ops = {{text, text, 1, 1, 1, 1}};
  for (std::string* place :
       {&report.name, &report.trace, &report.format, &report.digest, &report.host.name,
        &report.host.cpu, &report.device.kind, &report.device.name, &report.trust.line,
        &report.verdict.stage, &report.verdict.text, &report.spec_json}) {
    *place = text;
  }
  report.trust.warnings = {text};
  report.trust.limits = {text};
  report.verdict.doubts = {text};
  report.stragglers = {text};
  for (auto& row : report.blame) row.stage = text;
  for (auto& row : report.stages) {
    row.name = row.kind = text;
    for (std::string& input : row.inputs) input = text;
    row.elements = 1'000'000'000'000;
    row.service_ms->mean = 1e12;
    row.capacity_samples_per_s = 1e12;
    row.queue = report::QueueRow{~uint64_t{0}, 1e12, 1e12, 1e-12};
    row.bytes = ~uint64_t{0};
  }
  for (auto& row : report.devices) row.name = text;
  for (auto& row : report.kernels) row.name = text;
  for (auto& row : report.memory.stages) row = {text, ~uint64_t{0}};
  for (auto& lane : report.pictures.lanes) lane.name = text;
  for (auto& finding : report.findings) {
    finding.id = finding.stage = finding.text = text;
    for (auto& evidence : finding.evidence) evidence.name = evidence.text = text;
    auto& advice = *finding.recommendation;
    advice.text = text;
    advice.unpriced = text;
    advice.code = {text, text, text, text};
    advice.patch.changes = {SetTo(text, text)};
    advice.gain.reset();
    finding.where = {text, 1};
    std::string diff = "+" + text;
    for (size_t at = diff.find('\n'); at != std::string::npos; at = diff.find('\n', at + 2)) {
      diff.insert(at + 1, "+");
    }
    finding.changes = {{text, 1, {{1, text, text + "x"}}, diff, {text}}};
  }
  report.budget = {
      {text, text, report::CheckLevel::kError, report::Outcome::kFail, 1e12, 1e12, 1e12, text}};
  report.against_base = SlowerComparison();
  report.against_base->text = text;
  report.against_base->warnings = {text};
  report.against_base->stages[0].name = text;
  report.against_base->spec_change = Patch{{SetTo(text, text)}};
  report.throughput = attribution::Throughput{1e12, 1e12, 1e12};
  report.step_ms = report::Times{1e12, 1e12, 1e12, 1e12, 1};
  return report;
}

std::vector<std::string> NastyTexts() {
  std::string wide;
  for (int i = 0; i < 150; ++i) wide += "数";
  return {std::string(400, 'x'),
          "a very long text of many words that goes on and on " + std::string(300, ' ') + "end",
          wide,
          std::string(90, ' ') + "数据",
          "evil\x1b[2J\x1b]0;title\x07\r\n\tname",
          "\xff\xfe\xc3(\xed\xa0\x80 cut \xe6\x95",
          "bidi \u202e\u2066 zero\u200bwidth \u0085 next",
          "combining " + std::string("e\u0301\u0301\u0301"),
          "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;",
          "]]> <!-- --> {{x}} ${x} `code` **bold** | pipe | [link](javascript:alert(1)) @someone",
          "\n# heading\n- list\n```\nfence\n````\n",
          ""};
}

compare::Comparison SlowerComparison() {
  compare::Comparison comparison;
  comparison.base_runs = 5;
  comparison.new_runs = 5;
  comparison.answer = compare::Answer::kSlower;
  comparison.text = "11.8% slower (9.6 to 13.9%), by 5 runs a side, Mann-Whitney p = 0.008";
  comparison.method = "mann-whitney";
  comparison.p_value = 0.0079;
  comparison.throughput = compare::Change{302.4, 266.7, 0.882, 0.861, 0.904, true};
  comparison.step_mean_ms = compare::Change{52.9, 60, 1.134, 1.106, 1.161, true};
  comparison.step_p50_ms = compare::Change{52.1, 59.4, 1.14, 1.11, 1.17, true};
  comparison.step_p95_ms = compare::Change{61, 68.1, 1.116, 1.05, 1.18, true};
  comparison.step_p99_ms = compare::Change{80, 84.2, 1.05, 1.05, 1.05, false};
  comparison.ms_per_step[attribution::At(Category::kInputStall)] =
      compare::Change{16.9, 24.1, 1.426, 1.3, 1.55, true};
  comparison.ms_per_step[attribution::At(Category::kCompute)] =
      compare::Change{32.5, 32.5, 1, 0.99, 1.01, true};
  comparison.ms_per_step[attribution::At(Category::kCommunication)] =
      compare::Change{0, 1.5, 0, 0, 0, false};
  compare::StageChange decode;
  decode.name = "decode";
  decode.service_ms = compare::Change{3.2, 3.68, 1.15, 1.12, 1.18, true};
  decode.busy_ms_per_step = compare::Change{51, 58.9, 1.155, 1.12, 1.19, true};
  comparison.stages = {decode};
  comparison.spec_change = Patch{{SetTo("decode.deterministic", true)}};
  comparison.warnings = {"the sides ran on different hosts: node-7, node-9"};
  return comparison;
}

}  // namespace stallscope::test
