#include "replay/sweep/plan.h"
#include "replay/sweep/moves.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"

namespace stallscope::replay {
namespace {

// A smaller gain cannot be distinguished from noise.
constexpr double kWorthIt = 1.01;
// Two rates within this factor are alike: the smallest effect worth naming, as `compare` has it.
constexpr double kNoise = 1.02;

std::optional<double> RateOf(const Point& point) {
  if (const auto measured = Measured(point)) return measured->samples_per_s;
  if (point.predicted.has_value()) return point.predicted->samples_per_s;
  return std::nullopt;
}

struct Winner {
  double gain = 1;
  Patch patch;
};

// Those that gained, the best first.
std::vector<Winner> Winners(const Sweep& sweep) {
  std::vector<Winner> winners;
  const auto base = RateOf(BaseOf(sweep));
  if (!base.has_value() || !(*base > 0)) return winners;
  for (const Point& point : sweep.points) {
    const auto rate = RateOf(point);
    if (!point.patch || !rate || !point.error.empty() || *rate < kWorthIt * *base) continue;
    winners.push_back({*rate / *base, *point.patch});
  }
  std::stable_sort(winners.begin(), winners.end(),
                   [](const Winner& a, const Winner& b) { return a.gain > b.gain; });
  return winners;
}

// The point that has the spec's own values; found without making every point's spec.
std::optional<size_t> BaseOfGrid(const Spec& spec, const std::vector<Axis>& axes) {
  size_t index = 0;
  for (const Axis& axis : axes) {
    const auto value = GetKnob(spec, axis.path);
    if (!value.ok()) return std::nullopt;
    const auto found = std::find(axis.values.begin(), axis.values.end(), value.value());
    if (found == axis.values.end()) return std::nullopt;
    index = index * axis.values.size() + static_cast<size_t>(found - axis.values.begin());
  }
  if (axes.empty()) return std::nullopt;
  return index;
}

// Settings by their paths.
using Values = std::map<std::string, std::string>;

Values ValuesOf(const Patch& patch) {
  Values values;
  for (const auto& change : patch.changes) {
    if (const auto* set = std::get_if<SetChange>(&change)) values[set->path] = set->value;
  }
  return values;
}

// Gives one of these settings another value.
bool Contradicts(const Values& taken, const Patch& patch) {
  const Values values = ValuesOf(patch);
  return std::any_of(values.begin(), values.end(), [&](const auto& value) {
    const auto found = taken.find(value.first);
    return found != taken.end() && found->second != value.second;
  });
}

size_t Stores(const Spec& spec) {
  return static_cast<size_t>(
      std::count_if(spec.stages.begin(), spec.stages.end(), [](const StageSpec& stage) {
        return std::holds_alternative<CacheSpec>(stage.kind) ||
               std::holds_alternative<SnapshotSpec>(stage.kind);
      }));
}

// Whether `after` is worth more than `before`, as far as the simulation knows. Of what it cannot
// price, a second store is not: it keeps what the first one keeps already.
bool Adds(const Predictor* predictor, const Spec& before, const Spec& after) {
  if (predictor != nullptr) {
    const Price old = predictor->Predict(before);
    const Price now = predictor->Predict(after);
    if (old.rate && now.rate) return now.rate->samples_per_s >= kWorthIt * old.rate->samples_per_s;
  }
  return Stores(after) < 2 || Stores(after) == Stores(before);
}

}  // namespace

Sweep SweepOf(const model::Run& run, const Spec& spec) {
  Sweep sweep;
  sweep.trace = run.path;
  sweep.name = spec.name;
  sweep.recorded_ns = run.info.start_realtime_ns;
  sweep.spec_json = WriteSpec(spec, JsonLayout::kOneLine);
  return sweep;
}

void PlanGrid(const Spec& spec, const std::vector<Axis>& axes,
              const std::vector<NamedPatch>& patches, Sweep& sweep) {
  sweep.kind = SweepKind::kGrid;
  sweep.axes = axes;
  const uint64_t points = CountPoints(axes);
  sweep.points.reserve(points + patches.size());
  for (uint64_t i = 0; i < points; ++i) {
    Point point;
    point.set = PointOfGrid(axes, i);
    sweep.points.push_back(std::move(point));
  }
  for (const NamedPatch& patch : patches) {
    Point point;
    point.name = patch.name;
    point.patch = patch.patch;
    sweep.points.push_back(std::move(point));
  }
  sweep.base_point = BaseOfGrid(spec, axes);
  for (size_t i = points; i < sweep.points.size() && !sweep.base_point; ++i) {
    const auto changed = SpecOf(spec, sweep.points[i]);
    if (changed.ok() && changed.value() == spec) sweep.base_point = i;
  }
}

void PlanVerification(const report::Report& report, Sweep& sweep) {
  sweep.kind = SweepKind::kVerify;
  for (const report::FindingRow& finding : report.findings) {
    if (!finding.recommendation || finding.recommendation->patch.changes.empty()) continue;
    Point point;
    point.name = finding.id + (finding.stage.empty() ? "" : " in " + finding.stage);
    point.patch = finding.recommendation->patch;
    const auto same = [&](const Point& other) { return other.patch == point.patch; };
    if (std::none_of(sweep.points.begin(), sweep.points.end(), same)) {
      sweep.points.push_back(std::move(point));
    }
  }
}

void PlanCombination(const Spec& spec, const Predictor* predictor, Sweep& sweep) {
  const auto combined_before = [](const Point& point) { return point.name == kBestCombination; };
  if (std::any_of(sweep.points.begin(), sweep.points.end(), combined_before)) return;
  Spec combined = spec;
  size_t taken = 0;
  Values values;
  for (const Winner& winner : Winners(sweep)) {
    // Another value of a setting that a better change has set is not a further change.
    if (Contradicts(values, winner.patch)) continue;
    auto with = Apply(combined, winner.patch);
    if (!with.ok() || with.value() == combined || !LearnsTheSame(spec, with.value())) continue;
    if (taken > 0 && !Adds(predictor, combined, with.value())) continue;
    combined = std::move(with).value();
    values.merge(ValuesOf(winner.patch));
    ++taken;
  }
  if (taken < 2) return;
  Point point;
  point.name = kBestCombination;
  point.patch = Diff(spec, combined);
  sweep.points.push_back(std::move(point));
}

std::optional<size_t> BestOf(const Spec& spec, const Sweep& sweep) {
  const auto base = Measured(BaseOf(sweep));
  if (!base.has_value()) return std::nullopt;
  const auto rate_of = [&](size_t i) -> std::optional<Rate> {
    const Point& point = sweep.points[i];
    const auto rate = Measured(point);
    if (!rate || !point.error.empty() || rate->samples_per_s < kWorthIt * base->samples_per_s) {
      return std::nullopt;
    }
    const auto changed = SpecOf(spec, point);
    return changed.ok() && LearnsTheSame(spec, changed.value()) ? rate : std::nullopt;
  };
  std::optional<Rate> fastest;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const auto rate = rate_of(i);
    if (rate && (!fastest || rate->samples_per_s > fastest->samples_per_s)) fastest = rate;
  }
  if (!fastest.has_value()) return std::nullopt;
  const auto changes = [&](size_t i) {
    const Point& point = sweep.points[i];
    return point.patch.has_value() ? point.patch->changes.size() : point.set.size();
  };
  std::optional<size_t> best;
  double best_rate = 0;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const auto rate = rate_of(i);
    const bool close = rate && (rate->high >= fastest->low ||
                                rate->samples_per_s * kNoise >= fastest->samples_per_s);
    if (!close) continue;
    const bool smaller = !best || changes(i) < changes(*best) ||
                         (changes(i) == changes(*best) && rate->samples_per_s > best_rate);
    if (!smaller) continue;
    best = i;
    best_rate = rate->samples_per_s;
  }
  return best;
}

}  // namespace stallscope::replay
