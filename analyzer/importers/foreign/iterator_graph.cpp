#include "analyzer/importers/foreign/iterator_graph.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace stallscope::importers {
namespace {

constexpr size_t kNoNode = static_cast<size_t>(-1);

bool IsLess(const HostEvent& a, const HostEvent& b) {
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
}

// "ParallelMap" of "ParallelMapProduce".
std::string_view Producer(std::string_view event) {
  constexpr std::string_view kEnd = "Produce";
  return event.size() > kEnd.size() ? event.substr(0, event.size() - kEnd.size())
                                    : std::string_view();
}

// The open calls of iterators and producers, innermost last. No other events: a file may nest any
// number of those, and each would be skipped over and over.
class OpenCalls {
 public:
  explicit OpenCalls(const std::vector<HostEvent>& events) : events_(events) {}
  // Closes what has ended and returns the innermost call that encloses this event; then opens the
  // event, too.
  std::optional<size_t> Around(size_t event) {
    const HostEvent& inner = events_[event];
    while (!open_.empty() && events_[open_.back()].end_ns < inner.end_ns) open_.pop_back();
    const std::optional<size_t> around = open_.empty() ? std::nullopt : std::optional(open_.back());
    if (inner.role == HostRole::kIterator || inner.role == HostRole::kProduce) {
      open_.push_back(event);
    }
    return around;
  }

 private:
  const std::vector<HostEvent>& events_;
  std::vector<size_t> open_;
};

// For each path the index of the longest other one that it extends: for "A::B::C" that of "A::B",
// else of "A". Sorted, each path follows those that it extends, with nothing between them that does
// not extend them too: one pass with a stack finds them all, however long the paths are.
std::vector<std::optional<size_t>> Callers(const std::vector<IteratorNode>& nodes) {
  std::vector<std::pair<std::string, size_t>> paths;
  for (size_t i = 0; i < nodes.size(); ++i) paths.emplace_back(nodes[i].path + "::", i);
  std::sort(paths.begin(), paths.end());
  std::vector<std::optional<size_t>> callers(nodes.size());
  std::vector<size_t> open;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string& path = paths[i].first;
    while (!open.empty() && !path.starts_with(paths[open.back()].first)) open.pop_back();
    if (!open.empty()) callers[paths[i].second] = paths[open.back()].second;
    open.push_back(i);
  }
  return callers;
}

// The only node whose kind begins like this; nothing if there are none or several.
std::optional<size_t> OnlyNodeOfKind(
    const std::vector<std::pair<std::string_view, size_t>>& sorted_kinds, std::string_view start) {
  const auto first =
      std::lower_bound(sorted_kinds.begin(), sorted_kinds.end(), std::pair(start, size_t{0}));
  const auto begins_so = [&](auto place) {
    return place != sorted_kinds.end() && place->first.starts_with(start);
  };
  if (start.empty() || !begins_so(first) || begins_so(first + 1)) return std::nullopt;
  return first->second;
}

}  // namespace

IteratorGraph::IteratorGraph(HostEvents& host) {
  for (HostThread& thread : host.threads) {
    std::stable_sort(thread.events.begin(), thread.events.end(), IsLess);
  }
  AddNodes(host);
  produced_.resize(host.threads.size());
  for (size_t i = 0; i < host.threads.size(); ++i) Learn(i, host);
  FindProducersByName(host);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Evidence& seen = evidence_[i];
    nodes_[i].own_threads = seen.consumed > 0 || seen.produced > 0 ||
                            (seen.asked_elsewhere > 1 && seen.asked_here == 0);
  }
  FindThreads(host);
  CountCalls(host);
}

void IteratorGraph::AddNodes(const HostEvents& host) {
  std::map<std::string_view, size_t> by_path;
  node_of_name_.assign(host.names.size(), kNoNode);
  std::vector<uint64_t> parents;  // by node, from the events
  for (const HostThread& thread : host.threads) {
    for (const HostEvent& event : thread.events) {
      if (event.role != HostRole::kIterator) continue;
      size_t& node = node_of_name_[event.name];
      if (node == kNoNode) {
        const auto [place, fresh] = by_path.try_emplace(host.names[event.name], nodes_.size());
        node = place->second;
        if (fresh) {
          nodes_.push_back({host.names[event.name], host.facts[event.name], {}, false, 0});
          parents.push_back(0);
        }
      }
      if (event.id != 0) node_of_id_[event.id] = node;
      if (event.parent != 0) parents[node] = event.parent;
    }
  }
  evidence_.resize(nodes_.size());
  // By the path, or by the parent's number if the profiler wrote only the iterator's own name.
  const std::vector<std::optional<size_t>> callers = Callers(nodes_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].asked_by = callers[i];
    const auto parent = node_of_id_.find(parents[i]);
    if (!nodes_[i].asked_by && parents[i] != 0 && parent != node_of_id_.end() &&
        parent->second != i) {
      nodes_[i].asked_by = parent->second;
    }
  }
}

void IteratorGraph::Learn(size_t thread, const HostEvents& host) {
  const std::vector<HostEvent>& events = host.threads[thread].events;
  std::map<size_t, Produced>& produced = produced_[thread];
  OpenCalls open(events);
  for (size_t i = 0; i < events.size(); ++i) {
    const HostEvent& event = events[i];
    const std::optional<size_t> around = open.Around(i);
    const bool in_iterator = around && events[*around].role == HostRole::kIterator;
    switch (event.role) {
      case HostRole::kProduce:
        produced[i].name = event.name;
        break;
      case HostRole::kConsume:
        if (in_iterator) ++evidence_[NodeOf(events[*around])].consumed;
        break;
      case HostRole::kIterator: {
        const size_t node = NodeOf(event);
        const std::optional<size_t> parent = nodes_[node].asked_by;
        if (!parent) break;
        if (in_iterator && NodeOf(events[*around]) == *parent) {
          ++evidence_[*parent].asked_here;
        } else {
          ++evidence_[*parent].asked_elsewhere;
          if (around && !in_iterator) {
            produced[*around].node = parent;
            ++evidence_[*parent].produced;
          }
        }
        break;
      }
      case HostRole::kRunGraph:
        if (event.produced == 0 || !around || in_iterator) break;
        produced[*around].by_pool = true;
        runs_[event.produced] = {thread, *around};
        break;
      default:
        break;
    }
  }
}

// A source's Produce encloses no call: its name tells whose it is if only one iterator fits.
void IteratorGraph::FindProducersByName(const HostEvents& host) {
  std::vector<std::pair<std::string_view, size_t>> kinds;
  for (size_t i = 0; i < nodes_.size(); ++i) kinds.emplace_back(nodes_[i].facts.kind, i);
  std::sort(kinds.begin(), kinds.end());
  std::map<uint32_t, std::optional<size_t>> by_name;
  for (std::map<size_t, Produced>& thread : produced_) {
    for (auto& [event, produced] : thread) {
      if (produced.node) continue;
      const auto [place, fresh] = by_name.try_emplace(produced.name);
      if (fresh) place->second = OnlyNodeOfKind(kinds, Producer(host.names[produced.name]));
      produced.node = place->second;
      if (produced.node) ++evidence_[*produced.node].produced;
    }
  }
}

// A pool hands a call's pieces to any of its threads, so their number says little: what counts is
// how many calls were under way at once, each from its first piece to its last. A pool with fewer
// threads leaves calls that it has begun waiting for one, behind the first pieces of others.
void IteratorGraph::CountCalls(const HostEvents& host) {
  struct Call {
    int64_t start_ns = INT64_MAX;
    int64_t end_ns = INT64_MIN;
    void Add(const HostEvent& piece) {
      start_ns = std::min(start_ns, piece.start_ns);
      end_ns = std::max(end_ns, piece.end_ns);
    }
  };
  std::map<std::pair<size_t, uint64_t>, Call> runs;  // by node and number
  // By node: when a call began (1) and when one ended (-1); at one time the ends come first.
  std::vector<std::vector<std::pair<int64_t, int>>> edges(nodes_.size());
  std::vector<std::set<size_t>> threads(nodes_.size());
  const auto count = [&](size_t node, const Call& call) {
    edges[node].emplace_back(call.start_ns, 1);
    edges[node].emplace_back(call.end_ns, -1);
  };
  for (size_t t = 0; t < host.threads.size(); ++t) {
    const std::vector<HostEvent>& events = host.threads[t].events;
    for (size_t i = 0; i < events.size(); ++i) {
      if (events[i].role == HostRole::kProduce) {
        const std::optional<size_t> node = Producing(t, i);
        if (!node) continue;
        Call call;
        call.Add(events[i]);
        count(*node, call);
        threads[*node].insert(t);
      } else if (events[i].role == HostRole::kExecute) {
        const std::optional<size_t> node = NodeOfRun(events[i].consumed);
        if (!node) continue;
        runs[{*node, events[i].consumed}].Add(events[i]);
        threads[*node].insert(t);
      }
    }
  }
  for (const auto& [run, call] : runs) count(run.first, call);
  for (size_t node = 0; node < nodes_.size(); ++node) {
    std::sort(edges[node].begin(), edges[node].end());
    int64_t now = 0;
    for (const auto& edge : edges[node]) {
      now += edge.second;
      nodes_[node].calls_at_once =
          std::max(nodes_[node].calls_at_once, static_cast<size_t>(std::max<int64_t>(now, 0)));
    }
    nodes_[node].calls_at_once = std::min(nodes_[node].calls_at_once, threads[node].size());
  }
}

void IteratorGraph::FindThreads(const HostEvents& host) {
  for (size_t t = 0; t < host.threads.size(); ++t) {
    std::map<size_t, int64_t> work_ns;
    const std::vector<HostEvent>& events = host.threads[t].events;
    int64_t outermost_until = INT64_MIN;
    for (size_t i = 0; i < events.size(); ++i) {
      const HostEvent& event = events[i];
      std::optional<size_t> node;
      if (event.role == HostRole::kProduce) node = produced_[t].at(i).node;
      if (event.role == HostRole::kExecute) node = NodeOfRun(event.consumed);
      if (event.role == HostRole::kIterator) {
        node = NodeOf(event);
        const std::optional<size_t> parent = nodes_[*node].asked_by;
        if (parent && nodes_[*parent].own_threads) {
          node = parent;
        } else if (nodes_[*node].own_threads) {
          node.reset();  // it only waits, like a pool's thread that asks on the trainer's behalf
        }
      }
      if (!node || event.start_ns < outermost_until) continue;
      outermost_until = event.end_ns;
      work_ns[*node] += event.end_ns - event.start_ns;
    }
    std::optional<size_t> most;
    for (const auto& [node, ns] : work_ns) {
      if (!most || ns > work_ns[*most]) most = node;
    }
    node_of_thread_.push_back(most);
  }
}

std::optional<size_t> IteratorGraph::Producing(size_t thread, size_t event) const {
  const Produced& produced = produced_[thread].at(event);
  return produced.by_pool ? std::nullopt : produced.node;
}

std::optional<size_t> IteratorGraph::NodeOfRun(uint64_t run) const {
  const auto found = runs_.find(run);
  if (run == 0 || found == runs_.end()) return std::nullopt;
  return produced_[found->second.first].at(found->second.second).node;
}

}  // namespace stallscope::importers
