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

// The events that are open, innermost last.
class OpenEvents {
 public:
  explicit OpenEvents(const std::vector<HostEvent>& events) : events_(events) {}
  // Closes what has ended, then opens this one.
  void Open(size_t event) {
    while (!open_.empty() && events_[open_.back()].end_ns < events_[event].end_ns) open_.pop_back();
    open_.push_back(event);
  }
  // The innermost one of these roles that encloses the one opened last.
  std::optional<size_t> Around(HostRole a, HostRole b) const {
    for (size_t i = open_.size() - 1; i-- > 0;) {
      const HostRole role = events_[open_[i]].role;
      if (role == a || role == b) return open_[i];
    }
    return std::nullopt;
  }

 private:
  const std::vector<HostEvent>& events_;
  std::vector<size_t> open_;
};

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
  for (size_t i = 0; i < nodes_.size(); ++i) {
    // By the path; where the profiler wrote only the iterator's own name, by its parent's number.
    std::string_view path = nodes_[i].path;
    for (size_t colons = path.rfind("::"); colons != std::string_view::npos && colons > 0;
         colons = path.rfind("::")) {
      path = path.substr(0, colons);
      const auto found = by_path.find(path);
      if (found == by_path.end()) continue;
      nodes_[i].asked_by = found->second;
      break;
    }
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
  OpenEvents open(events);
  for (size_t i = 0; i < events.size(); ++i) {
    const HostEvent& event = events[i];
    open.Open(i);
    const std::optional<size_t> around = open.Around(HostRole::kIterator, HostRole::kProduce);
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

// A source's Produce encloses no call: its name says whose it is, where only one can be meant.
void IteratorGraph::FindProducersByName(const HostEvents& host) {
  std::map<uint32_t, std::optional<size_t>> by_name;
  for (std::map<size_t, Produced>& thread : produced_) {
    for (auto& [event, produced] : thread) {
      if (produced.node) continue;
      const auto [place, fresh] = by_name.try_emplace(produced.name);
      if (fresh) {
        const std::string_view producer = Producer(host.names[produced.name]);
        size_t matches = 0;
        for (size_t i = 0; i < nodes_.size(); ++i) {
          if (producer.empty() || nodes_[i].facts.kind.compare(0, producer.size(), producer) != 0) {
            continue;
          }
          ++matches;
          place->second = i;
        }
        if (matches != 1) place->second.reset();
      }
      produced.node = place->second;
      if (produced.node) ++evidence_[*produced.node].produced;
    }
  }
}

void IteratorGraph::FindThreads(const HostEvents& host) {
  for (size_t t = 0; t < host.threads.size(); ++t) {
    std::map<size_t, int64_t> work_ns;
    std::set<size_t> works_for;
    const std::vector<HostEvent>& events = host.threads[t].events;
    int64_t outermost_until = INT64_MIN;
    for (size_t i = 0; i < events.size(); ++i) {
      const HostEvent& event = events[i];
      std::optional<size_t> node;
      if (event.role == HostRole::kProduce) node = produced_[t].at(i).node;
      if (event.role == HostRole::kExecute) node = NodeOfRun(event.consumed);
      if (node) works_for.insert(*node);
      if (event.role == HostRole::kIterator) {
        node = NodeOf(event);
        const std::optional<size_t> parent = nodes_[*node].asked_by;
        if (parent && nodes_[*parent].own_threads) node = parent;
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
    for (const size_t node : works_for) ++nodes_[node].threads;
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
