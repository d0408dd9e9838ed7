#include "replay/workload/worker_start.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace stallscope::replay {
namespace {

// Fewer do not show what a worker's first batch costs.
constexpr size_t kFewestFirsts = 6;

// Scales the first ones to what later ones cost on average. Returns the difference.
Cost MoveMore(const std::vector<Cost*>& firsts, const std::vector<const Cost*>& later) {
  Cost more;
  if (std::min(firsts.size(), later.size()) < kFewestFirsts) return more;
  for (float Cost::*const of : {&Cost::cpu_ns, &Cost::blocked_ns, &Cost::io_ns}) {
    double first = 0;
    double usual = 0;
    for (const Cost* cost : firsts) first += cost->*of;
    for (const Cost* cost : later) usual += cost->*of;
    first /= static_cast<double>(firsts.size());
    usual /= static_cast<double>(later.size());
    if (first <= usual) continue;
    more.*of = static_cast<float>(first - usual);
    for (Cost* cost : firsts) cost->*of *= static_cast<float>(usual / first);
  }
  return more;
}

}  // namespace

std::optional<WorkerStart> StartOf(const LoaderSpec& loader,
                                   const std::vector<attribution::Interval>& startups,
                                   const std::vector<attribution::Interval>& samplings,
                                   const std::vector<Boot>& boots) {
  const auto workers = static_cast<double>(loader.num_workers);
  if (workers == 0) return std::nullopt;
  WorkerStart start;
  double begun = 0;
  double ended = 0;
  std::set<int64_t> chosen_from;
  std::set<int64_t> chosen_to;
  for (const attribution::Interval& sampling : samplings) {
    chosen_from.insert(sampling.start_ns);
    chosen_to.insert(sampling.end_ns);
  }
  for (const attribution::Interval& startup : startups) {
    const auto ns = static_cast<double>(startup.ns());
    // The first indices are chosen as soon as all workers are started; the threads of their queues
    // start between these.
    const bool begins = chosen_from.contains(startup.end_ns);
    const bool goes_on = begins && chosen_to.contains(startup.start_ns);
    // Persistent workers are started once; later passes begin at once.
    if (begins && !goes_on && loader.persistent_workers && begun > 0) continue;
    if (begins) start.fork_ns += ns / workers;
    if (!begins) start.end_ns += ns;
    if (!goes_on) (begins ? begun : ended) += 1;
  }
  if (begun == 0) return std::nullopt;
  start.fork_ns /= begun;
  if (ended > 0) start.end_ns /= ended;
  if (boots.empty()) return start;
  const auto booted = static_cast<double>(boots.size());
  for (const Boot& boot : boots) {
    start.boot_cpu_ns += boot.cpu_ns / booted;
    start.boot_blocked_ns += boot.blocked_ns / booted;
  }
  // Forked ones are there long before the last one is started, and wait for it.
  const double waited = (workers - 1) / 2 * start.fork_ns;
  start.boot_blocked_ns = std::max(0.0, start.boot_blocked_ns - waited);
  return start;
}

void MoveFirstsToStart(const std::vector<BatchCost*>& firsts,
                       const std::vector<const BatchCost*>& later, WorkerStart& start) {
  const auto settle = [&](Cost BatchCost::*part, Cost& more) {
    std::vector<Cost*> first;
    std::vector<const Cost*> usual;
    for (BatchCost* cost : firsts) first.push_back(&(cost->*part));
    for (const BatchCost* cost : later) usual.push_back(&(cost->*part));
    more = MoveMore(first, usual);
  };
  settle(&BatchCost::fetch, start.first_fetch);
  settle(&BatchCost::send, start.first_send);
  settle(&BatchCost::receive, start.first_receive);
}

void MoveFirstsToStart(const std::vector<Cost*>& firsts, const std::vector<const Cost*>& later,
                       WorkerStart& start) {
  start.first_step = MoveMore(firsts, later);
}

}  // namespace stallscope::replay
