// Which tf.data iterators there are, which of them have threads of their own, and for which of them
// each thread and each run of a graph works. Learned from all threads at once, then read-only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/importers/foreign/host_events.h"

namespace stallscope::importers {

struct IteratorNode {
  std::string path;  // "Iterator::Root::Prefetch"
  IteratorFacts facts;
  std::optional<size_t> asked_by;  // the node that takes its elements
  bool own_threads = false;        // its callers wait for what other threads make
  size_t calls_at_once = 0;        // of its function, at most; each has a thread
};

class IteratorGraph {
 public:
  // Sorts each thread's events by start, enclosing events first.
  explicit IteratorGraph(HostEvents& host);

  const std::vector<IteratorNode>& nodes() const { return nodes_; }
  // Of an event of role kIterator.
  size_t NodeOf(const HostEvent& event) const { return node_of_name_[event.name]; }
  // For whom the event at this index of the thread, of role kProduce, makes an element. Nothing if
  // that is unknown or the pool does it (NodeOfRun).
  std::optional<size_t> Producing(size_t thread, size_t event) const;
  // The iterator for whose threads the pool runs this graph (HostEvent::consumed).
  std::optional<size_t> NodeOfRun(uint64_t run) const;
  // The iterator for which the thread works most, if any.
  std::optional<size_t> NodeOfThread(size_t thread) const { return node_of_thread_[thread]; }

 private:
  struct Produced {
    std::optional<size_t> node;
    uint32_t name = 0;
    bool by_pool = false;
  };
  struct Evidence {
    uint64_t asked_here = 0;       // its inputs' calls on its caller's thread
    uint64_t asked_elsewhere = 0;  // on another thread
    uint64_t consumed = 0;
    uint64_t produced = 0;
  };

  void AddNodes(const HostEvents& host);
  void Learn(size_t thread, const HostEvents& host);
  void FindProducersByName(const HostEvents& host);
  void FindThreads(const HostEvents& host);
  void CountCalls(const HostEvents& host);

  std::vector<IteratorNode> nodes_;
  std::vector<Evidence> evidence_;
  std::vector<size_t> node_of_name_;
  std::vector<std::map<size_t, Produced>> produced_;  // by thread and event
  // Trees: crafted numbers could turn a hash table into one long list.
  std::map<uint64_t, size_t> node_of_id_;
  std::map<uint64_t, std::pair<size_t, size_t>> runs_;  // thread and event that handed it
  std::vector<std::optional<size_t>> node_of_thread_;
};

}  // namespace stallscope::importers
