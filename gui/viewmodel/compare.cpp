#include "gui/viewmodel/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"
#include "gui/viewmodel/steps.h"

namespace stallscope::viewmodel {
namespace {

constexpr size_t kBins = 48;

std::string ChangeText(const compare::Change& change) {
  if (!change.HasRatio()) return "new";
  std::string text = words::SignedPercent(change.ratio - 1);
  if (change.bounded) {
    text += fmt::format(" ({:+.1f} to {:+.1f})", 100 * (change.low - 1), 100 * (change.high - 1));
  }
  return text;
}

std::string Ms(double ms) { return words::Duration(static_cast<int64_t>(std::llround(ms * 1e6))); }

template <class Text>
void AddRow(Table& table, const std::string& name, const std::optional<compare::Change>& change,
            Text&& text) {
  if (!change.has_value()) return;
  table.rows.push_back({{name}, {text(change->base)}, {text(change->now)}, {ChangeText(*change)}});
}

void AddTables(const compare::Comparison& comparison, CompareModel& model) {
  model.totals.columns = {{"figure", false}, {"base", true}, {"now", true}, {"change", true}};
  AddRow(model.totals, "throughput", comparison.throughput, &words::Rate);
  AddRow(model.totals, "step, mean", comparison.step_mean_ms, &Ms);
  AddRow(model.totals, "step, p50", comparison.step_p50_ms, &Ms);
  AddRow(model.totals, "step, p95", comparison.step_p95_ms, &Ms);
  AddRow(model.totals, "step, p99", comparison.step_p99_ms, &Ms);
  for (const attribution::Category category : attribution::kReportOrder) {
    AddRow(model.totals, std::string(WordFor(PaintOf(category))) + " per step",
           comparison.ms_per_step[attribution::At(category)], &Ms);
  }
  model.stages.columns = {
      {"stage", false}, {"figure", false}, {"base", true}, {"now", true}, {"change", true}};
  for (const compare::StageChange& stage : comparison.stages) {
    Table rows;
    AddRow(rows, "service", stage.service_ms, &Ms);
    AddRow(rows, "busy per step", stage.busy_ms_per_step, &Ms);
    AddRow(rows, "capacity", stage.capacity_samples_per_s, &words::Rate);
    for (const compare::OpChange& op : stage.ops) {
      AddRow(rows, op.name + " per call", op.ms_per_call, &Ms);
    }
    for (auto& row : rows.rows) {
      row.insert(row.begin(), TableCell{stage.name});
      model.stages.rows.push_back(std::move(row));
    }
  }
}

std::vector<uint64_t> BinsOf(const std::vector<double>& values, const StepOverlay& overlay) {
  std::vector<uint64_t> bins(kBins);
  for (const double value : values) {
    const double at = (value - overlay.low) / (overlay.high - overlay.low);
    if (at < 0 || at > 1) continue;
    ++bins[std::min(static_cast<size_t>(at * kBins), kBins - 1)];
  }
  return bins;
}

StepOverlay OverlayOf(const std::vector<double>& base, const std::vector<double>& now) {
  StepOverlay overlay;
  std::vector<double> both = base;
  both.insert(both.end(), now.begin(), now.end());
  if (both.empty()) return overlay;
  // Both sides share their ends.
  const Histogram ends = MakeHistogram(both, kBins, "ms");
  overlay.low = ends.low;
  overlay.high = ends.high;
  overlay.tick_texts = ends.tick_texts;
  overlay.beyond = ends.beyond;
  overlay.base = BinsOf(base, overlay);
  overlay.now = BinsOf(now, overlay);
  const auto largest = [](const std::vector<uint64_t>& bins, size_t of) {
    return of == 0 ? 0.0
                   : static_cast<double>(*std::max_element(bins.begin(), bins.end())) /
                         static_cast<double>(of);
  };
  overlay.most = std::max(largest(overlay.base, base.size()), largest(overlay.now, now.size()));
  return overlay;
}

// The same range, as offsets from the start of each window.
session::Range LinkedRange(const session::Range& visible, int64_t from_start, int64_t to_start) {
  return {visible.start_ns - from_start + to_start, visible.end_ns - from_start + to_start};
}

CompareSide SideOf(const session::OpenRun& open, session::Range visible, int columns) {
  CompareSide side;
  side.title = open.title;
  side.visible = visible;
  if (open.index == nullptr || columns <= 0 || visible.ns() <= 0) return side;
  // Everything folded: two pictures must fit side by side.
  std::vector<Lane> plan = PlanLanes(open, {});
  const LanePicture picture{
      open, visible,
      timeline::ColumnBounds({visible.start_ns, visible.end_ns}, static_cast<size_t>(columns)), 8};
  float y = 0;
  for (Lane& lane : plan) {
    if (lane.indent > 0 || lane.kind == LaneKind::kCounter || lane.kind == LaneKind::kQueue) {
      continue;
    }
    if (lane.depth != kAllDepths && lane.depth > 0) continue;
    lane.depth = kAllDepths;
    // Nothing is folded or unfolded here.
    lane.group = false;
    lane.collapsed = false;
    side.rows.push_back({lane, DrawLane(picture, lane), y});
    y += lane.height;
  }
  constexpr int kTicks = 4;
  for (int i = 0; i < kTicks; ++i) {
    const int64_t at = visible.start_ns + visible.ns() / kTicks * i;
    side.ticks.push_back({static_cast<float>(columns) / kTicks * static_cast<float>(i),
                          words::TimeAt(at, open.index->window.start_ns, visible.ns() / 100)});
  }
  return side;
}

}  // namespace

CompareModel BuildCompare(const session::State& state, int columns) {
  CompareModel model;
  model.linked = state.compare.linked_zoom;
  const session::OpenRun* const now = state.Active();
  for (const auto& run : state.runs) {
    if (run->number != state.active) model.choices.emplace_back(run->number, run->title);
  }
  const session::OpenRun* const base = state.Run(state.compare.base);
  if (now == nullptr) {
    model.nothing = "Open two runs to compare them.";
  } else if (base == nullptr || base == now) {
    model.nothing = model.choices.empty() ? "Open a second run to compare with this one."
                                          : "Choose a run to compare with.";
  }
  if (!model.nothing.empty()) return model;
  if (now->index != nullptr && base->index != nullptr) {
    const session::Range visible = state.view.visible;
    model.now = SideOf(*now, visible, columns);
    session::Range other =
        LinkedRange(visible, now->index->window.start_ns, base->index->window.start_ns);
    if (!model.linked) other = {base->index->window.start_ns, base->index->window.end_ns};
    model.base = SideOf(*base, other, columns);
  }
  if (state.compare.comparison == nullptr) {
    model.nothing = "Comparing.";
    return model;
  }
  const compare::Comparison& comparison = *state.compare.comparison;
  model.verdict = comparison.answer;
  model.answer = compare::WordFor(comparison.answer);
  model.text = comparison.text;
  model.warnings = comparison.warnings;
  for (const session::OpenRun* side : {now, base}) {
    if (model.assumed.empty()) model.assumed = AssumedOn(side->run->info.device);
  }
  if (comparison.spec_change.has_value()) model.spec_change = LinesOf(*comparison.spec_change);
  AddTables(comparison, model);
  model.steps = OverlayOf(state.compare.base_summary->step_ms, state.compare.now_summary->step_ms);
  return model;
}

}  // namespace stallscope::viewmodel
