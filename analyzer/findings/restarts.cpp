#include "analyzer/findings/restarts.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/math.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {
namespace {

struct Fetch {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

std::vector<Fetch> FetchesOn(const model::Run& run, const model::Track& track, StageId loader) {
  std::vector<Fetch> fetches;
  for (size_t i = 0; i < track.spans.size(); ++i) {
    const trace::SpanClass& what = run.ClassOf(track, i);
    if (!model::IsBatchWait(what) || !what.queue.known()) continue;
    if (run.queues[what.queue.value].producer != loader) continue;
    fetches.push_back({track.spans.start_ns[i], track.spans.EndNs(i)});
  }
  std::sort(fetches.begin(), fetches.end(),
            [](const Fetch& a, const Fetch& b) { return a.start_ns < b.start_ns; });
  return fetches;
}

// How many operations the thread began between each fetch and the next.
std::vector<double> OperationsBetween(const model::Run& run, const model::Track& thread,
                                      const std::vector<Fetch>& fetches) {
  std::vector<int64_t> starts;
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kDetail || track.rank != thread.rank ||
        track.info.thread != thread.info.thread) {
      continue;
    }
    starts.insert(starts.end(), track.spans.start_ns.begin(), track.spans.start_ns.end());
  }
  std::sort(starts.begin(), starts.end());
  std::vector<double> counts;
  for (size_t i = 0; i + 1 < fetches.size(); ++i) {
    const auto from = std::upper_bound(starts.begin(), starts.end(), fetches[i].end_ns);
    const auto to = std::lower_bound(from, starts.end(), fetches[i + 1].start_ns);
    counts.push_back(static_cast<double>(to - from));
  }
  return counts;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return Quantile(values, 0.5);
}

double MedianFetchNs(const std::vector<Fetch>& fetches) {
  std::vector<double> ns;
  for (const Fetch& fetch : fetches)
    ns.push_back(static_cast<double>(fetch.end_ns - fetch.start_ns));
  return MedianOf(std::move(ns));
}

// Those of one thread, within the window.
std::vector<Restart> RestartsOn(const Case& c, const model::Track& thread,
                                const std::vector<Fetch>& fetches, double fetch_ns) {
  const std::vector<double> operations = OperationsBetween(c.run, thread, fetches);
  const double most_between = MedianOf(operations) * kBetweenEpochs;
  size_t epochs = 0;
  std::vector<Restart> restarts;
  for (size_t i = 0; i < operations.size(); ++i) {
    const Fetch& last = fetches[i];
    const Fetch& first = fetches[i + 1];
    const bool inside = last.start_ns >= c.attribution.window.start_ns &&
                        first.end_ns <= c.attribution.window.end_ns;
    if (!inside || operations[i] >= most_between) continue;
    ++epochs;
    const Restart restart = {last.start_ns, first.end_ns, last.end_ns - last.start_ns,
                             first.end_ns - first.start_ns};
    const auto shorter = static_cast<double>(std::min(restart.shut_down_ns, restart.first_ns));
    if (shorter >= kRestartFetches * fetch_ns) restarts.push_back(restart);
  }
  if (restarts.size() * 2 <= epochs) restarts.clear();
  return restarts;
}

}  // namespace

Restarts RestartsOf(const Case& c, StageId loader) {
  Restarts found;
  double threads = 0;
  const auto window_ns = static_cast<double>(c.attribution.window.ns());
  for (const model::Track& track : c.run.tracks) {
    if (track.info.kind != trace::TrackKind::kThread) continue;
    const std::vector<Fetch> fetches = FetchesOn(c.run, track, loader);
    if (fetches.empty()) continue;
    ++threads;
    const double fetch_ns = MedianFetchNs(fetches);
    for (const Restart& restart : RestartsOn(c, track, fetches, fetch_ns)) {
      found.all.push_back(restart);
      found.fetch_ns = fetch_ns;
      // There would be two fetches in any case.
      found.share += static_cast<double>(restart.end_ns - restart.start_ns) - 2 * fetch_ns;
      found.waited += static_cast<double>(restart.shut_down_ns + restart.first_ns) - 2 * fetch_ns;
    }
  }
  if (found.all.empty() || window_ns <= 0) return {};
  std::stable_sort(found.all.begin(), found.all.end(), [](const Restart& a, const Restart& b) {
    return a.end_ns - a.start_ns > b.end_ns - b.start_ns;
  });
  found.share = std::min(1.0, found.share / threads / window_ns);
  found.waited = std::min(1.0, found.waited / threads / window_ns);
  return found;
}

}  // namespace stallscope::findings
