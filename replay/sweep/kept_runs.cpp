#include "replay/sweep/kept_runs.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <utility>

#include "analyzer/model/loader.h"
#include "analyzer/spec/spec_json.h"

namespace stallscope::replay {
namespace {

// What another process left behind may be anything: a file that is not a run is made again.
std::optional<Outcome> OutcomeIn(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return std::nullopt;
  auto run = model::LoadTrace(path);
  if (!run.ok() || !run.value().quality.sealed) return std::nullopt;
  Rerun rerun;
  rerun.run = std::move(run).value();
  rerun.attribution = attribution::Attribute(rerun.run);
  auto outcome = OutcomeOf(std::move(rerun));
  if (!outcome.ok()) return std::nullopt;
  return std::move(outcome).value();
}

}  // namespace

Result<Outcome> KeptRuns::Measure(const Spec& spec, const RunWish& wish) {
  const std::string settings = WriteSpec(spec, JsonLayout::kOneLine);
  const std::string what = fmt::format("{}\n{}\n{}", subject_, settings, wish.cores);
  const std::string stem = fmt::format("{:016x}", XXH3_64bits(what.data(), what.size()));
  const std::string path = fmt::format("{}/{}-{}.sst", folder_, stem, ++asked_[stem]);
  if (auto outcome = OutcomeIn(path)) {
    ++found_;
    return *std::move(outcome);
  }
  RunWish kept = wish;
  kept.keep = path;
  return bench_.Measure(spec, kept);
}

}  // namespace stallscope::replay
