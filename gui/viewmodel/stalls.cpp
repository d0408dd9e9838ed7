#include "gui/viewmodel/stalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/timeline/lane_index.h"
#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"

namespace stallscope::viewmodel {
namespace {

constexpr size_t kMostHeatRows = 12;
constexpr size_t kMostWorst = 20;

using BlameKey = std::pair<StageId, attribution::Cause>;

std::string StageName(const model::Run& run, StageId stage) {
  return stage.known() ? std::string(run.NameOf(stage)) : "unknown";
}

void AddMatrix(const session::State& state, const model::Run& run, StallsModel& model) {
  const attribution::Attribution& attribution = *state.shown.attribution;
  std::map<BlameKey, int64_t> cells;
  std::map<StageId, int64_t> by_stage;
  std::map<attribution::Cause, int64_t> by_cause;
  int64_t total = 0;
  for (const attribution::Blame& blame : attribution.blame) {
    cells[{blame.stage, blame.cause}] += blame.ns;
    by_stage[blame.stage] += blame.ns;
    by_cause[blame.cause] += blame.ns;
    total += blame.ns;
  }
  for (const auto& [stage, ns] : by_stage) model.stages.push_back(stage);
  for (const auto& [cause, ns] : by_cause) model.causes.push_back(cause);
  const auto share = [&](int64_t ns) {
    return total > 0 ? static_cast<double>(ns) / static_cast<double>(total) : 0;
  };
  for (const StageId stage : model.stages) {
    model.stage_names.push_back(StageName(run, stage));
    model.stage_totals.push_back(words::Percent(share(by_stage[stage])));
    std::vector<MatrixCell> row;
    for (const attribution::Cause cause : model.causes) {
      MatrixCell cell;
      const auto found = cells.find({stage, cause});
      if (found != cells.end()) {
        cell.ns = found->second;
        cell.share = share(cell.ns);
        cell.text = words::Percent(cell.share);
        cell.tooltip = fmt::format("{}: {}, {}", model.stage_names.back(), NameOf(cause),
                                   words::BothNs(cell.ns));
      }
      const session::Selection& selected = state.view.selected;
      cell.selected = selected.stage == stage && selected.cause == cause;
      row.push_back(std::move(cell));
    }
    model.cells.push_back(std::move(row));
  }
  for (const attribution::Cause cause : model.causes) {
    model.cause_totals.push_back(words::Percent(share(by_cause[cause])));
  }
  const int64_t window = attribution.window.ns();
  const double of_window =
      window > 0 ? static_cast<double>(total) / static_cast<double>(window) : 0;
  model.total = fmt::format("{} of input stall, {} of the measured window", words::BothNs(total),
                            words::Percent(of_window));
  if (total == 0) model.nothing = "The trainer never waited for a batch.";
}

bool Within(const session::State& state, const attribution::StallDetail& stall) {
  const auto& range = state.view.range;
  return !range.has_value() || (stall.end_ns > range->start_ns && stall.start_ns < range->end_ns);
}

// Each stall's blame on a stage and cause, spread evenly over the stall.
void AddHeat(const session::State& state, const session::OpenRun& open, size_t columns,
             StallsModel& model) {
  model.visible = state.view.range.value_or(state.view.visible);
  if (open.stalls == nullptr || columns == 0 || model.visible.ns() <= 0) return;
  const auto bounds =
      timeline::ColumnBounds({model.visible.start_ns, model.visible.end_ns}, columns);
  std::map<BlameKey, std::vector<double>> rows;
  std::map<BlameKey, double> sums;
  for (const attribution::StallDetail& stall : *open.stalls) {
    const int64_t start = std::max(stall.start_ns, model.visible.start_ns);
    const int64_t end = std::min(stall.end_ns, model.visible.end_ns);
    if (start >= end) continue;
    std::vector<double>& row = rows[{stall.stage, stall.cause}];
    row.resize(columns);
    const double density =
        static_cast<double>(stall.ns) / static_cast<double>(stall.end_ns - stall.start_ns);
    const auto first = static_cast<size_t>(std::upper_bound(bounds.begin(), bounds.end(), start) -
                                           bounds.begin()) -
                       1;
    for (size_t k = first; k < columns && bounds[k] < end; ++k) {
      const int64_t ns = std::min(end, bounds[k + 1]) - std::max(start, bounds[k]);
      if (ns > 0) row[k] += density * static_cast<double>(ns);
    }
    sums[{stall.stage, stall.cause}] += density * static_cast<double>(end - start);
  }
  std::vector<BlameKey> keys;
  for (const auto& [key, ns] : sums) keys.push_back(key);
  std::stable_sort(keys.begin(), keys.end(),
                   [&](const BlameKey& a, const BlameKey& b) { return sums[a] > sums[b]; });
  if (keys.size() > kMostHeatRows) keys.resize(kMostHeatRows);
  for (const BlameKey& key : keys) {
    HeatRow row;
    row.stage = key.first;
    row.cause = key.second;
    row.name = StageName(*open.run, key.first) + ": " + NameOf(key.second);
    for (size_t k = 0; k < columns; ++k) {
      const auto width = static_cast<double>(std::max<int64_t>(bounds[k + 1] - bounds[k], 1));
      row.columns.push_back(static_cast<float>(rows[key][k] / width));
      model.heat_max = std::max(model.heat_max, row.columns.back());
    }
    model.heat.push_back(std::move(row));
  }
}

// One row per step: how long it waited, and what got most of the blame.
void AddWorst(const session::State& state, const session::OpenRun& open, StallsModel& model) {
  model.worst.columns = {
      {"step", true}, {"waited", true}, {"mainly due to", false}, {"share", true}};
  if (open.stalls == nullptr) return;
  struct Step {
    uint64_t row = 0;
    int64_t ns = 0;
    const attribution::StallDetail* most = nullptr;
  };
  std::vector<Step> steps;
  for (const attribution::StallDetail& stall : *open.stalls) {
    if (!Within(state, stall)) continue;
    if (steps.empty() || steps.back().row != stall.step_row) {
      steps.push_back({stall.step_row, 0, &stall});
    }
    steps.back().ns += stall.ns;
    if (stall.ns > steps.back().most->ns) steps.back().most = &stall;
  }
  const size_t count = std::min(kMostWorst, steps.size());
  std::partial_sort(
      steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(count), steps.end(),
      [](const Step& a, const Step& b) { return a.ns != b.ns ? a.ns > b.ns : a.row < b.row; });
  steps.resize(count);
  for (const Step& step : steps) {
    model.worst_rows.push_back(step.row);
    model.worst.rows.push_back(
        {{words::Grouped(open.run->rows.steps[step.row].index)},
         {words::Duration(step.ns), {}, words::ExactNs(step.ns)},
         {StageName(*open.run, step.most->stage) + ": " + NameOf(step.most->cause)},
         {words::Percent(static_cast<double>(step.most->ns) /
                         static_cast<double>(std::max<int64_t>(step.ns, 1))),
          {},
          words::ExactNs(step.most->ns)}});
  }
}

}  // namespace

StallsModel BuildStalls(const session::State& state, size_t columns) {
  StallsModel model;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->run == nullptr || state.shown.attribution == nullptr) {
    model.nothing = "No run has been analyzed yet.";
    return model;
  }
  AddMatrix(state, *open->run, model);
  AddHeat(state, *open, columns, model);
  AddWorst(state, *open, model);
  return model;
}

session::Range HeatColumn(const StallsModel& model, size_t columns, size_t column) {
  const auto bounds =
      timeline::ColumnBounds({model.visible.start_ns, model.visible.end_ns}, columns);
  if (column + 1 >= bounds.size()) return {};
  return {bounds[column], bounds[column + 1]};
}

}  // namespace stallscope::viewmodel
