#include "replay/sweep/sweep.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/base/math.h"
#include "analyzer/spec/knobs.h"

namespace stallscope::replay {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"grid", "verify", "tune"};
constexpr std::array<std::string_view, 3> kModes = {"both", "simulate", "rerun"};
// Student's t on fewer runs than this is wider than anything that a replay could tell.
constexpr size_t kRunsForInterval = 5;

template <class Kind, size_t kCount>
std::optional<Kind> KindOf(const std::array<std::string_view, kCount>& words,
                           std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Kind>(found - words.begin());
}

std::string ChangeName(const SetChange& change) { return change.path + "=" + change.value; }
std::string ChangeName(const InsertChange& change) { return "+" + change.stage.name; }
std::string ChangeName(const RemoveChange& change) { return "-" + change.stage; }
std::string ChangeName(const MoveChange& change) {
  switch (change.place.kind) {
    case Place::Kind::kStart:
      return change.stage + " to the start";
    case Place::Kind::kAfter:
      return change.stage + " after " + change.place.stage;
    case Place::Kind::kBefore:
      break;
  }
  return change.stage + " before " + change.place.stage;
}

}  // namespace

std::string_view WordFor(SweepKind kind) { return kKinds[static_cast<size_t>(kind)]; }
std::string_view WordFor(SweepMode mode) { return kModes[static_cast<size_t>(mode)]; }
std::optional<SweepKind> SweepKindOf(std::string_view word) {
  return KindOf<SweepKind>(kKinds, word);
}
std::optional<SweepMode> SweepModeOf(std::string_view word) {
  return KindOf<SweepMode>(kModes, word);
}

size_t Configurations(const Sweep& sweep) {
  return sweep.points.size() + (sweep.base_point.has_value() ? 0 : 1);
}

Point& ConfigurationAt(Sweep& sweep, size_t index) {
  return index < sweep.points.size() ? sweep.points[index] : sweep.base;
}

const Point& ConfigurationAt(const Sweep& sweep, size_t index) {
  return index < sweep.points.size() ? sweep.points[index] : sweep.base;
}

const Point& BaseOf(const Sweep& sweep) {
  return sweep.base_point.has_value() ? sweep.points[*sweep.base_point] : sweep.base;
}

Result<Spec> SpecOf(const Spec& spec, const Point& point) {
  if (point.patch.has_value()) return Apply(spec, *point.patch);
  std::vector<std::string> settings;
  for (const Setting& setting : point.set) settings.push_back(setting.path + "=" + setting.value);
  return ApplySettings(spec, settings);
}

bool NeedsPrediction(const Sweep& sweep, const Point& point) {
  return sweep.mode != SweepMode::kRerun && !point.predicted.has_value() &&
         point.unpriced.empty() && point.error.empty();
}

bool NeedsProbe(const Sweep& sweep, const Point& point) {
  // An emulation does not know either.
  return sweep.mode == SweepMode::kBoth && !sweep.emulated && !point.unpriced.empty() &&
         !point.probed && point.error.empty();
}

bool NeedsRun(const Sweep& sweep, const Point& point) {
  return sweep.mode != SweepMode::kSimulate && point.error.empty() &&
         point.runs.size() < sweep.repeats;
}

bool IsComplete(const Sweep& sweep) {
  for (size_t i = 0; i < Configurations(sweep); ++i) {
    const Point& point = ConfigurationAt(sweep, i);
    if (NeedsPrediction(sweep, point) || NeedsProbe(sweep, point) || NeedsRun(sweep, point)) {
      return false;
    }
  }
  return true;
}

std::optional<Rate> Measured(const Point& point) {
  if (point.runs.empty()) return std::nullopt;
  std::vector<double> rates;
  double half = 0;
  for (const RunFigure& run : point.runs) {
    rates.push_back(run.rate.samples_per_s);
    half += (run.rate.high - run.rate.low) / 2;
  }
  const Interval interval = MeanInterval(rates);
  if (rates.size() >= kRunsForInterval) {
    return Rate{interval.mean, std::max(interval.low, 0.0), interval.high};
  }
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  const auto runs = static_cast<double>(rates.size());
  half = half / runs / std::sqrt(runs);
  return Rate{interval.mean, std::max(std::min(interval.mean - half, *least), 0.0),
              std::max(interval.mean + half, *most)};
}

double SpreadOf(const Point& point) {
  if (point.runs.empty()) return 0;
  const auto [slowest, fastest] = std::minmax_element(
      point.runs.begin(), point.runs.end(), [](const RunFigure& a, const RunFigure& b) {
        return a.rate.samples_per_s < b.rate.samples_per_s;
      });
  const double least = slowest->rate.samples_per_s;
  return least > 0 ? fastest->rate.samples_per_s / least - 1 : 0;
}

double OthersIn(const Point& point) {
  double most = 0;
  for (const RunFigure& run : point.runs) most = std::max(most, run.others);
  return most;
}

std::optional<uint64_t> MemoryOf(const Point& point) {
  uint64_t most = 0;
  for (const RunFigure& run : point.runs) most = std::max(most, run.memory_bytes);
  if (most > 0) return most;
  return point.predicted_memory_bytes;
}

std::string NameOf(const Point& point) {
  std::string name;
  const auto add = [&](const std::string& change) { name += (name.empty() ? "" : " ") + change; };
  for (const Setting& setting : point.set) add(setting.path + "=" + setting.value);
  if (point.patch.has_value()) {
    for (const auto& change : point.patch->changes) {
      std::visit([&](const auto& c) { add(ChangeName(c)); }, change);
    }
  }
  if (point.cores > 0) add("on " + std::to_string(point.cores) + " cores");
  return name.empty() ? "as recorded" : name;
}

PredictionErrors ErrorsOf(const Sweep& sweep) {
  PredictionErrors result;
  std::vector<double> errors;
  std::vector<double> half_widths;
  size_t covered = 0;
  Rate best_predicted;
  double picked = 0;
  double best = 0;
  for (size_t i = 0; i < Configurations(sweep); ++i) {
    const Point& point = ConfigurationAt(sweep, i);
    if (!point.unpriced.empty()) ++result.unpriced;
    if (!point.error.empty()) ++result.failed;
    const auto measured = Measured(point);
    if (!point.predicted || !measured || !(measured->samples_per_s > 0)) continue;
    const Rate& predicted = *point.predicted;
    const double actual = measured->samples_per_s;
    errors.push_back(std::abs(predicted.samples_per_s / actual - 1));
    if (predicted.samples_per_s > 0) {
      half_widths.push_back((predicted.high - predicted.low) / 2 / predicted.samples_per_s);
    }
    if (predicted.low <= actual && actual <= predicted.high) ++covered;
    if (predicted.samples_per_s > best_predicted.samples_per_s) {
      best_predicted = predicted;
      picked = actual;
    }
    best = std::max(best, actual);
  }
  result.points = errors.size();
  if (errors.empty()) return result;
  std::sort(errors.begin(), errors.end());
  std::sort(half_widths.begin(), half_widths.end());
  result.median = Quantile(errors, 0.5);
  result.p95 = Quantile(errors, 0.95);
  result.covered = static_cast<double>(covered) / static_cast<double>(errors.size());
  result.median_half_width = Quantile(half_widths, 0.5);
  result.best_within = 1 - picked / best;
  return result;
}

}  // namespace stallscope::replay
