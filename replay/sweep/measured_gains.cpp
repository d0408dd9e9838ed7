#include "replay/sweep/measured_gains.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

#include "analyzer/base/file.h"
#include "analyzer/words/words.h"
#include "replay/sweep/sweep_file.h"

namespace stallscope::replay {
namespace {

// A folder may hold anything, and `analyze` must not read it all.
constexpr size_t kMostEntries = 10'000;

// By its first bytes, as WriteSweep begins.
bool LooksLikeSweep(const std::string& path) {
  constexpr std::string_view kBegin = "{\n\"schema\": \"stallscope.sweep/1\"";
  std::array<char, kBegin.size()> begin{};
  const auto file = InputFile::Open(path, Use::kLook);
  if (!file.ok()) return false;
  const auto got = file.value().ReadAt(0, begin.data(), begin.size());
  return got.ok() && std::string_view(begin.data(), got.value()) == kBegin;
}

std::string DisturbedBy(const Point& base, const Point& point) {
  for (const auto& [one, whose] : {std::pair(&point, "its"), std::pair(&base, "the base's")}) {
    const double spread = SpreadOf(*one);
    if (spread > kSteady) {
      return std::string(whose) + " runs differ by " + words::Percent(spread);
    }
  }
  for (const auto& [one, whose] : {std::pair(&point, "its"), std::pair(&base, "the base's")}) {
    const double others = OthersIn(*one);
    if (others > kOthersDisturb) {
      return "other programs had " + words::Percent(others) + " of the cores in " + whose + " runs";
    }
  }
  constexpr std::string_view kContention = "contention";
  if (point.verdict.find(kContention) != std::string::npos &&
      base.verdict.find(kContention) == std::string::npos) {
    return "its threads lacked cores";
  }
  return {};
}

// What one sweep found of a patch.
std::optional<findings::Measurement> MeasuredIn(const Sweep& sweep, const Patch& patch) {
  for (const Point& point : sweep.points) {
    if (point.patch != patch || !point.error.empty()) continue;
    if (auto found = MeasuredGain(sweep, point)) return found;
  }
  return std::nullopt;
}

findings::Measurement Together(const std::vector<findings::Measurement>& found) {
  findings::Measurement all = found.front();
  std::vector<double> factors;
  std::string listed;
  double sum = 0;
  all.runs = 0;
  for (const findings::Measurement& one : found) {
    factors.push_back(one.factor);
    listed += (listed.empty() ? "" : ", ") + words::Factor(one.factor);
    sum += one.factor * one.runs;
    all.runs += one.runs;
    all.low = std::min(all.low, one.low);
    all.high = std::max(all.high, one.high);
    if (all.disturbed.empty()) all.disturbed = one.disturbed;
    if (one.first_run.has_value()) all.first_run = one.first_run;
  }
  all.factor = sum / std::max(all.runs, 1U);
  const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
  if (*most > *least * (1 + kSteady)) all.disturbed = "separate replays found " + listed;
  return all;
}

}  // namespace

std::optional<findings::Measurement> MeasuredGain(const Sweep& sweep, const Point& point) {
  const auto base = Measured(BaseOf(sweep));
  const auto with = Measured(point);
  if (!with.has_value() || !base.has_value() || !(base->samples_per_s > 0)) return std::nullopt;
  // Both sides are uncertain, independently of each other.
  const auto both = [](double a, const Rate& of_a, double b, const Rate& of_b) {
    return std::hypot(a / of_a.samples_per_s, b / of_b.samples_per_s);
  };
  const double below =
      both(with->samples_per_s - with->low, *with, base->high - base->samples_per_s, *base);
  const double above =
      both(with->high - with->samples_per_s, *with, base->samples_per_s - base->low, *base);
  findings::Measurement found;
  found.factor = with->samples_per_s / base->samples_per_s;
  found.low = found.factor * std::max(1 - below, 0.0);
  found.high = found.factor * (1 + above);
  found.runs = static_cast<unsigned>(point.runs.size());
  if (point.filled.has_value()) {
    found.first_run = point.filled->rate.samples_per_s / base->samples_per_s;
  }
  found.disturbed = DisturbedBy(BaseOf(sweep), point);
  return found;
}

std::optional<double> PassesToPay(const Sweep& sweep, const Point& point) {
  const auto base = Measured(BaseOf(sweep));
  const auto with = Measured(point);
  if (!base.has_value() || !with.has_value() || !point.filled.has_value()) return std::nullopt;
  if (point.filled->stored_samples == 0 || with->samples_per_s <= base->samples_per_s) {
    return std::nullopt;
  }
  const auto samples = static_cast<double>(point.filled->stored_samples);
  // The run that fills it trains, too.
  const double before_s = samples / base->samples_per_s;
  const double more_s = std::max(0.0, point.filled->stored_s - before_s);
  return 1 + more_s / (before_s - samples / with->samples_per_s);
}

std::vector<Sweep> FindVerifications(const model::Run& run) {
  const std::filesystem::path folder = std::filesystem::path(run.path).parent_path();
  std::vector<std::pair<std::filesystem::file_time_type, Sweep>> found;
  size_t entries = 0;
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    if (++entries > kMostEntries) break;
    const std::filesystem::path& path = entry->path();
    std::error_code unknown;
    // Nobody asked for this file: a pipe of that name must not make the command wait.
    if (path.extension() != ".json" || !entry->is_regular_file(unknown) || !LooksLikeSweep(path)) {
      continue;
    }
    const auto time = std::filesystem::last_write_time(path, unknown);
    if (unknown) continue;
    auto sweep = ReadSweepFile(path);
    if (!sweep.ok() || sweep.value().kind != SweepKind::kVerify || sweep.value().emulated ||
        sweep.value().first_epoch || sweep.value().recorded_ns != run.info.start_realtime_ns ||
        run.info.start_realtime_ns == 0) {
      continue;
    }
    found.emplace_back(time, std::move(sweep).value());
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Sweep> sweeps;
  for (auto& [time, sweep] : found) sweeps.push_back(std::move(sweep));
  return sweeps;
}

void SetMeasuredGains(const std::vector<Sweep>& sweeps, report::Report& report) {
  for (report::FindingRow& finding : report.findings) {
    if (!finding.recommendation.has_value()) continue;
    std::vector<findings::Measurement> found;
    for (const Sweep& sweep : sweeps) {
      if (auto one = MeasuredIn(sweep, finding.recommendation->patch)) found.push_back(*one);
    }
    if (!found.empty()) finding.recommendation->measured = Together(found);
  }
}

}  // namespace stallscope::replay
