#include "analyzer/findings/unequal_shares.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/thresholds.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings {
namespace {

// The batches that each worker made of a pass.
using Pass = std::map<TrackId, std::vector<uint64_t>>;

std::map<uint64_t, Pass> PassesBy(const model::Run& run, StageId fetch) {
  std::map<uint64_t, Pass> passes;
  for (const model::Track& track : run.tracks) {
    if (track.info.stage != fetch) continue;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(track, i);
      const ItemId batch{track.spans.item[i]};
      const bool whole = what.kind == trace::SpanKind::kWork && what.name == trace::StringId();
      if (!whole || what.stage != fetch || !batch.known()) continue;
      passes[model::PassOfBatch(batch)][track.info.id].push_back(batch.value);
    }
  }
  return passes;
}

// The last batch before half of the workers have no data left; 0: they never had any.
uint64_t LastOfMost(const Pass& pass, size_t workers) {
  std::vector<uint64_t> ends;
  for (const auto& [worker, batches] : pass) {
    ends.push_back(*std::max_element(batches.begin(), batches.end()));
  }
  std::sort(ends.begin(), ends.end(), std::greater<>());
  const size_t most = workers / 2 + 1;
  return ends.size() < most ? 0 : ends[most - 1];
}

}  // namespace

std::optional<UnequalShares> UnequalSharesOf(const Case& c, StageId fetch) {
  const model::Loader* const loader = JobLoaderOf(c, fetch);
  if (loader == nullptr) return std::nullopt;
  const LoaderSpec settings = model::LoaderSpecOf(loader->info);
  if (!settings.iterable || !settings.in_order || settings.num_workers < 2) return std::nullopt;
  const auto workers = static_cast<size_t>(settings.num_workers);
  UnequalShares found;
  std::map<uint64_t, uint64_t> last_of_most;  // by pass
  for (const auto& [number, pass] : PassesBy(c.run, fetch)) {
    const uint64_t last = LastOfMost(pass, workers);
    UnequalShares of_pass;
    for (const auto& [worker, batches] : pass) {
      of_pass.batches += batches.size();
      of_pass.behind += static_cast<size_t>(std::count_if(
          batches.begin(), batches.end(), [&](uint64_t batch) { return batch > last; }));
      if (batches.size() <= of_pass.most) continue;
      of_pass.most = batches.size();
      of_pass.worker = c.run.NameOf(worker);
    }
    // In turn, a worker is at most one batch ahead of the others.
    if (of_pass.behind <= workers) continue;
    last_of_most[number] = last;
    if (of_pass.behind > found.behind) found = of_pass;
  }
  int64_t waited = 0;
  const attribution::Window& window = c.attribution.window;
  for (const trace::Step& step : c.run.rows.steps) {
    const auto last = last_of_most.find(model::PassOfBatch(step.batch));
    if (last == last_of_most.end() || step.batch.value <= last->second) continue;
    if (step.requested_ns < window.start_ns || step.received_ns > window.end_ns) continue;
    waited += step.received_ns - step.requested_ns;
  }
  found.share = static_cast<double>(waited) / static_cast<double>(window.ns());
  if (found.share < kModerateShare) return std::nullopt;
  return found;
}

}  // namespace stallscope::findings
