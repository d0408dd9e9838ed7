#include "gui/viewmodel/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "analyzer/report/describe.h"
#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"

namespace stallscope::viewmodel {
namespace {

// In lines of text.
constexpr float kBoxWidth = 12;
constexpr float kBoxHeight = 6;
constexpr float kOpHeight = 1;  // where boxes name the largest op
constexpr float kGap = 5;       // between boxes: room for a gauge
constexpr float kRowGap = 4;    // between rows of a folded chain
constexpr float kMargin = 1;
constexpr float kThinnest = 0.15F;
constexpr float kThickest = 0.8F;
constexpr size_t kOpsShown = 5;
constexpr size_t kNoBox = static_cast<size_t>(-1);

// How far a stage is from the source, along the longest path.
std::vector<size_t> DepthsOf(const std::vector<trace::StageInfo>& stages) {
  std::vector<size_t> depths(stages.size());
  // At most as many rounds as there are stages, so that a cyclic graph ends, too.
  for (size_t round = 0; round < stages.size(); ++round) {
    bool moved = false;
    for (const trace::StageInfo& stage : stages) {
      for (const StageId input : stage.inputs) {
        if (!input.known() || input.value >= stages.size()) continue;
        const size_t depth = std::min(depths[input.value] + 1, stages.size());
        if (depth <= depths[stage.id.value]) continue;
        depths[stage.id.value] = depth;
        moved = true;
      }
    }
    if (!moved) break;
  }
  return depths;
}

class Layout {
 public:
  Layout(const session::State& state, const session::OpenRun& open, float width)
      : state_(state), run_(*open.run), report_(*state.shown.report), width_(width) {}

  PipelineModel Make() {
    depths_ = DepthsOf(run_.stages);
    box_of_.assign(run_.stages.size(), kNoBox);
    // The trainer has its own box, after all others.
    for (const trace::StageInfo& stage : run_.stages) {
      if (!model::IsTrainer(stage)) AddStage(stage);
    }
    AddTrainer();
    Place();
    AddPipes();
    AddTable();
    model_.ops = TableOf(report::OpTable(report_));
    return std::move(model_);
  }

 private:
  const report::StageRow* RowOf(const std::string& name) const {
    const auto row =
        std::find_if(report_.stages.begin(), report_.stages.end(),
                     [&](const report::StageRow& stage) { return stage.name == name; });
    return row == report_.stages.end() ? nullptr : &*row;
  }

  void AddStage(const trace::StageInfo& stage) {
    StageBox box;
    box.stage = stage.id;
    box.name = stage.name;
    box.kind = stage.kind;
    box.paint = PaintOfStage(stage.id);
    box.selected = state_.view.selected.stage == stage.id;
    const report::VerdictRow& verdict = report_.verdict;
    if (verdict.bound == findings::Bound::kInput && verdict.stage == stage.name) {
      box.bottleneck = true;
      box.marked = "bottleneck";
      if (verdict.cause.has_value()) box.marked += ": " + NameOf(*verdict.cause);
    }
    if (const report::StageRow* const row = RowOf(stage.name)) Describe(*row, box);
    box_of_[stage.id.value] = model_.boxes.size();
    model_.boxes.push_back(std::move(box));
  }

  static void Describe(const report::StageRow& row, StageBox& box) {
    box.utilization = row.utilization;
    if (row.parallelism.has_value()) {
      box.lines.push_back(
          fmt::format("{} worker{}", *row.parallelism, *row.parallelism == 1 ? "" : "s"));
    }
    if (row.service_ms.has_value()) {
      box.lines.push_back(words::Duration(static_cast<int64_t>(row.service_ms->mean * 1e6)) +
                          " each");
    }
    if (row.utilization.has_value())
      box.lines.push_back(words::Percent(*row.utilization) + " busy");
    box.tooltip = {row.name + " (" + row.kind + ")"};
    if (row.elements) box.tooltip.push_back(words::Counted(*row.elements, "element"));
    if (row.service_ms.has_value()) {
      const auto ns = [](double ms) { return words::ExactNs(static_cast<int64_t>(ms * 1e6)); };
      const auto& p95 = row.service_ms->p95;
      box.tooltip.push_back("mean " + ns(row.service_ms->mean) + ", p50 " +
                            ns(row.service_ms->p50) + (p95 ? ", p95 " + ns(*p95) : ""));
    }
    if (row.capacity_samples_per_s.has_value()) {
      box.tooltip.push_back("capacity " + words::Rate(*row.capacity_samples_per_s));
    }
    box.tooltip.push_back("waits for input " + words::PercentOrDash(row.starved) + ", for space " +
                          words::PercentOrDash(row.blocked));
    for (size_t i = 0; i < std::min(row.ops.size(), kOpsShown); ++i) {
      const attribution::OpUse& op = row.ops[i];
      const std::string share = words::PercentOrDash(row.ShareOf(op)) + " ";
      if (i == 0) box.lines.push_back(share + op.name);
      const std::string place = words::PlaceInCode(op.file, op.line);
      box.tooltip.push_back(share + op.name + (place.empty() ? "" : " (" + place + ")"));
    }
  }

  void AddTrainer() {
    StageBox box;
    box.name = "trainer";
    box.kind = report_.device.kind;
    box.paint = Paint::kCompute;
    const auto& compute = report_.breakdown[attribution::At(attribution::Category::kCompute)];
    const auto& stall = report_.breakdown[attribution::At(attribution::Category::kInputStall)];
    if (compute.has_value()) box.utilization = compute->fraction;
    if (report_.step_ms.has_value()) {
      box.lines.push_back(words::Duration(static_cast<int64_t>(report_.step_ms->mean * 1e6)) +
                          " per step");
    }
    if (compute.has_value()) box.lines.push_back(words::Percent(compute->fraction) + " compute");
    if (stall.has_value()) box.lines.push_back(words::Percent(stall->fraction) + " stalled");
    const findings::Bound bound = report_.verdict.bound;
    box.bottleneck = bound == findings::Bound::kCompute || bound == findings::Bound::kTransfer ||
                     bound == findings::Bound::kLaunch || bound == findings::Bound::kCommunication;
    if (box.bottleneck) box.marked = "bottleneck: " + std::string(findings::WordFor(bound));
    box.tooltip = {"trainer"};
    for (const trace::StageInfo& stage : run_.stages) {
      if (!model::IsTrainer(stage)) continue;
      box_of_[stage.id.value] = model_.boxes.size();
      box.selected = box.selected || state_.view.selected.stage == stage.id;
    }
    if (compute.has_value()) box.tooltip.push_back("compute " + words::BothNs(compute->ns));
    if (stall.has_value()) box.tooltip.push_back("input stall " + words::BothNs(stall->ns));
    model_.boxes.push_back(std::move(box));
  }

  // In columns by depth, from the left; a full row continues below.
  void Place() {
    size_t deepest = 0;
    for (const trace::StageInfo& stage : run_.stages) {
      if (!model::IsTrainer(stage)) deepest = std::max(deepest, depths_[stage.id.value]);
    }
    const size_t of_trainer = model_.boxes.size() > 1 ? deepest + 1 : 0;
    const auto fits =
        static_cast<size_t>(std::max((width_ - 2 * kMargin + kGap) / (kBoxWidth + kGap), 1.F));
    std::map<size_t, size_t> beside;  // boxes at a depth so far
    size_t tallest = 1;
    for (const trace::StageInfo& stage : run_.stages) {
      if (!model::IsTrainer(stage)) tallest = std::max(tallest, ++beside[depths_[stage.id.value]]);
    }
    beside.clear();
    const bool ops = std::any_of(report_.stages.begin(), report_.stages.end(),
                                 [](const report::StageRow& stage) { return !stage.ops.empty(); });
    const float height = kBoxHeight + (ops ? kOpHeight : 0);
    const float row_height = static_cast<float>(tallest) * (height + kRowGap);
    for (size_t i = 0; i < model_.boxes.size(); ++i) {
      StageBox& box = model_.boxes[i];
      const size_t depth = box.stage.known() ? depths_[box.stage.value] : of_trainer;
      const size_t row = depth / fits;
      const size_t place = beside[depth]++;
      box.x = kMargin + static_cast<float>(depth % fits) * (kBoxWidth + kGap);
      box.y = kMargin + static_cast<float>(row) * row_height +
              static_cast<float>(place) * (height + kRowGap);
      box.width = kBoxWidth;
      box.height = height;
      model_.width = std::max(model_.width, box.x + box.width + kMargin);
      model_.height = std::max(model_.height, box.y + box.height + kRowGap);
    }
  }

  // Samples per second out of each stage, so that pipes on both sides of a batch are comparable. A
  // stage that runs inside another one's thread has no count of its own: it passes on what it gets.
  void FindFlows() {
    double samples = 0;
    for (const trace::Step& step : run_.rows.steps) samples += static_cast<double>(step.samples);
    const auto steps = static_cast<double>(run_.rows.steps.size());
    const double batch = steps > 0 && samples > 0 ? samples / steps : 1;
    std::vector<size_t> order(run_.stages.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return depths_[a] < depths_[b]; });
    flows_.assign(run_.stages.size(), 0);
    batched_.assign(run_.stages.size(), false);
    for (const size_t i : order) {
      const trace::StageInfo& stage = run_.stages[i];
      // A job's loader shows batches only.
      batched_[i] = stage.loader.known() || stage.kind.find("batch") != std::string::npos;
      for (const StageId input : stage.inputs) {
        if (!input.known() || input.value >= run_.stages.size()) continue;
        if (batched_[input.value]) batched_[i] = true;
        flows_[i] = std::max(flows_[i], flows_[input.value]);
      }
      const double own = ThroughputOf(stage);
      if (own > 0) flows_[i] = own * (batched_[i] ? batch : 1);
    }
  }

  double ThroughputOf(const trace::StageInfo& stage) const {
    const report::StageRow* const row = RowOf(stage.name);
    const int64_t window = report_.window_end_ns - report_.window_start_ns;
    if (row == nullptr || window <= 0) return 0;
    return static_cast<double>(row->elements.value_or(0)) * 1e9 / static_cast<double>(window);
  }

  void AddPipe(size_t from, size_t to) {
    const trace::StageInfo& stage = run_.stages[model_.boxes[from].stage.value];
    const StageBox& a = model_.boxes[from];
    const StageBox& b = model_.boxes[to];
    Pipe pipe;
    pipe.from = from;
    pipe.to = to;
    pipe.x0 = a.x + a.width;
    pipe.y0 = a.y + a.height / 2;
    pipe.x1 = b.x;
    pipe.y1 = b.y + b.height / 2;
    const double rate = ThroughputOf(stage);
    pipe.width = static_cast<float>(flows_[stage.id.value]);  // scaled below, by the largest
    pipe.tooltip = {stage.name + " to " + b.name};
    if (rate > 0) {
      pipe.text = words::Rate(rate);
      if (batched_[stage.id.value]) pipe.text.insert(pipe.text.rfind('/'), " batches");
      pipe.tooltip.push_back(pipe.text);
    }
    const report::StageRow* const row = RowOf(stage.name);
    if (row != nullptr && row->queue.has_value()) pipe.queue = GaugeOf(*row->queue, stage);
    if (pipe.queue.has_value()) {
      pipe.tooltip.push_back("empty " + words::PercentOrDash(pipe.queue->empty) +
                             " of the time, full " + words::PercentOrDash(pipe.queue->full));
    }
    model_.pipes.push_back(std::move(pipe));
  }

  Pipe::Gauge GaugeOf(const report::QueueRow& queue, const trace::StageInfo& stage) const {
    Pipe::Gauge gauge;
    gauge.name = run_.NameOf(stage.queue);
    gauge.capacity = queue.capacity.value_or(0);
    gauge.empty = queue.empty;
    gauge.full = queue.full;
    if (queue.mean.has_value() && gauge.capacity > 0) {
      gauge.mean = std::min(*queue.mean / static_cast<double>(gauge.capacity), 1.0);
      gauge.text = fmt::format("{:.1f} of {}", *queue.mean, gauge.capacity);
    }
    return gauge;
  }

  void AddPipes() {
    FindFlows();
    std::vector<bool> feeds(run_.stages.size());
    for (const trace::StageInfo& stage : run_.stages) {
      for (const StageId input : stage.inputs) {
        if (!input.known() || input.value >= run_.stages.size()) continue;
        if (model::IsTrainer(run_.stages[input.value])) continue;
        feeds[input.value] = true;
        AddPipe(box_of_[input.value], box_of_[stage.id.value]);
      }
    }
    for (const trace::StageInfo& stage : run_.stages) {
      if (!feeds[stage.id.value] && !model::IsTrainer(stage))
        AddPipe(box_of_[stage.id.value], model_.boxes.size() - 1);
    }
    float most = 0;
    for (const Pipe& pipe : model_.pipes) most = std::max(most, pipe.width);
    for (Pipe& pipe : model_.pipes) {
      pipe.width = most > 0 ? std::max(pipe.width / most * kThickest, kThinnest) : kThinnest;
    }
  }

  void AddTable() {
    Table& table = model_.stages;
    table.columns = {{"stage", false},   {"kind", false},   {"workers", true},
                     {"elements", true}, {"service", true}, {"busy", true},
                     {"starved", true},  {"blocked", true}, {"capacity", true}};
    for (const report::StageRow& row : report_.stages) {
      TableCell service{"-"};
      if (row.service_ms.has_value()) {
        const auto ns = static_cast<int64_t>(row.service_ms->mean * 1e6);
        service = {words::Duration(ns), {}, words::ExactNs(ns)};
      }
      table.rows.push_back(
          {{row.name},
           {row.kind},
           {words::CountOrDash(row.parallelism)},
           {words::CountOrDash(row.elements)},
           service,
           {words::PercentOrDash(row.utilization), row.utilization},
           {words::PercentOrDash(row.starved), row.starved},
           {words::PercentOrDash(row.blocked), row.blocked},
           {row.capacity_samples_per_s ? words::Rate(*row.capacity_samples_per_s) : "-"}});
    }
  }

  const session::State& state_;
  const model::Run& run_;
  const report::Report& report_;
  const float width_;
  std::vector<size_t> depths_;
  std::vector<size_t> box_of_;
  std::vector<double> flows_;  // by stage
  std::vector<bool> batched_;  // by stage: its output is batches
  PipelineModel model_;
};

}  // namespace

PipelineModel BuildPipeline(const session::State& state, float width) {
  PipelineModel model;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->run == nullptr || state.shown.report == nullptr) {
    model.nothing = "No run has been analyzed yet.";
    return model;
  }
  if (open->run->stages.empty()) {
    model.nothing = "The trace has no stages.";
    return model;
  }
  return Layout(state, *open, width).Make();
}

}  // namespace stallscope::viewmodel
