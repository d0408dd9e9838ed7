#include "replay/sweep/measured_gains.h"

#include <array>
#include <filesystem>
#include <string_view>

#include "analyzer/base/file.h"
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

}  // namespace

std::optional<Sweep> FindVerification(const model::Run& run) {
  const std::filesystem::path folder = std::filesystem::path(run.path).parent_path();
  std::optional<Sweep> newest;
  std::filesystem::file_time_type newest_time;
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
    if (unknown || (newest.has_value() && time <= newest_time)) continue;
    auto sweep = ReadSweepFile(path);
    if (!sweep.ok() || sweep.value().kind != SweepKind::kVerify || sweep.value().emulated ||
        sweep.value().recorded_ns != run.info.start_realtime_ns ||
        run.info.start_realtime_ns == 0) {
      continue;
    }
    newest = std::move(sweep).value();
    newest_time = time;
  }
  return newest;
}

void SetMeasuredGains(const Sweep& sweep, report::Report& report) {
  const auto base = Measured(BaseOf(sweep));
  if (!base.has_value() || !(base->samples_per_s > 0)) return;
  for (report::FindingRow& finding : report.findings) {
    if (!finding.recommendation.has_value()) continue;
    findings::Recommendation& recommendation = *finding.recommendation;
    for (const Point& point : sweep.points) {
      if (point.patch != recommendation.patch || !point.error.empty()) continue;
      const auto measured = Measured(point);
      if (!measured.has_value()) continue;
      recommendation.measured = measured->samples_per_s / base->samples_per_s;
      break;
    }
  }
}

}  // namespace stallscope::replay
