// What happened on the host that says something about steps and the input pipeline. Private to the
// room; plain data.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_HOST_EVENT_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_HOST_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/ids.h"

namespace stallscope::importers {

enum class HostRole : uint8_t {
  kNone,      // shown, but of no further meaning
  kStep,      // a step of the trainer: it has a number, whatever its name
  kGetNext,   // the trainer asks for a batch
  kIterator,  // "Iterator::A::B": B, for A, was asked for an element
  kProduce,   // an iterator's own thread makes an element ("PrefetchProduce")
  kConsume,   // one is taken from an iterator's buffer
  kRunGraph,  // a graph is handed to the pool
  kExecute,   // a thread of the pool works on a graph
  kCall,      // a compiled function is called: tf.function, jit
  kCompile,   // one is compiled
};

// By the event's name. An event with a step's number is a kStep whatever this says.
HostRole RoleOfEvent(std::string_view name);

// "Iterator::Root::Prefetch::ForeverRepeat[2]::Map" of whatever epoch: without "[2]". The same for
// "Iterator::Map#id=7#".
std::string IteratorPath(std::string_view name);

// "Map" of "Iterator::Map", and of "Iterator::Root::Map" where the display name is missing.
std::string IteratorKind(std::string_view path);

// Of the first dimension of shapes: 16 of "[16,96,96,3]"; 0 where it is not known.
uint64_t LeadingSize(std::string_view shapes);

struct HostEvent {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  HostRole role = HostRole::kNone;
  uint32_t name = 0;      // in HostEvents::names
  uint64_t id = 0;        // of an iterator; of a step, its number
  uint64_t parent = 0;    // the id of the iterator that asks; 0: not said
  uint64_t produced = 0;  // what this hands to another thread, and
  uint64_t consumed = 0;  // what it took from one; 0: nothing
};

struct HostThread {
  std::string name;
  uint64_t number = 0;
  TrackId detail;                 // where all its events are shown
  TrackId track;                  // the pipeline's account of it; None until somebody needs it
  std::vector<HostEvent> events;  // of a role, in any order
};

// What an iterator says of itself; the last call counts.
struct IteratorFacts {
  std::string kind;  // "ParallelMapV2"
  uint32_t parallelism = 0;
  uint64_t buffer = 0;
  uint64_t batch = 0;         // elements of its input in one of its own
  uint64_t leading_size = 0;  // of the first dimension of what it hands on
  std::optional<bool> deterministic;
};

struct HostEvents {
  std::vector<std::string> names;    // an iterator's is its path
  std::vector<IteratorFacts> facts;  // as long
  std::vector<HostThread> threads;
};

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_HOST_EVENT_H_
