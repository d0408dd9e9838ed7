// What a TensorFlow or JAX program did on the host that says something about its steps and its
// input pipeline, in the same words in an XPlane and in a trace.json: events with a role, what they
// say of themselves, and which of their threads trains, in which steps.
//
// Steps come, in this order, from: events with a step's number (tf.profiler's Trace, Keras, JAX's
// StepTraceAnnotation); the `Steps` lines that a profiler derived from the devices' work; the waits
// for batches, which RunBuilder finds itself; the calls of the function that the trainer calls over
// and over. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/base/ids.h"
#include "analyzer/importers/foreign/run_builder.h"
#include "analyzer/importers/foreign/steps.h"

namespace stallscope::importers {

enum class HostRole : uint8_t {
  kNone,      // shown, but has no further meaning
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

// By the event's name; its arguments may give it another role.
HostRole RoleOfEvent(std::string_view name);

// "Iterator::Root::Prefetch::ForeverRepeat[2]::Map" of any epoch: without "[2]", and without the
// arguments of "Iterator::Map#id=7#".
std::string IteratorPath(std::string_view name);

// "Map" of "Iterator::Root::Map".
std::string IteratorKind(std::string_view path);

// The first dimension of shapes: 16 of "[16,96,96,3]"; 0 if unknown.
uint64_t LeadingSize(std::string_view shapes);

struct HostEvent {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  HostRole role = HostRole::kNone;
  uint32_t name = 0;      // in HostEvents::names
  uint64_t id = 0;        // of an iterator; of a step, its number
  uint64_t parent = 0;    // the id of the iterator that asks; 0: unknown
  uint64_t produced = 0;  // what this hands to another thread, and
  uint64_t consumed = 0;  // what it took from one; 0: nothing
};

struct HostThread {
  std::string name;
  uint64_t number = 0;
  TrackId track;                  // the pipeline's account of it; None until one is needed
  std::vector<HostEvent> events;  // of a role, in any order
  std::vector<Occurrence> eager_ops;
};

// What an iterator says of itself; the last call counts.
struct IteratorFacts {
  std::string kind;  // "ParallelMapV2"
  uint32_t parallelism = 0;
  uint64_t buffer = 0;
  uint64_t batch = 0;  // elements of its input in one of its own
  std::string shapes;  // of what it hands on: "[16,96,96,3]", "?" for what varies
  std::string types;   // of the same: "uint8"
  std::optional<bool> drop_remainder;
  uint64_t cycle_length = 0;  // inputs that it reads by turns,
  uint64_t block_length = 0;  // and the elements in a row from each
  uint64_t num_shards = 0;
  std::optional<bool> deterministic;
  bool tuned = false;  // with AUTOTUNE for its parallelism or its buffer
};

struct HostEvents {
  std::vector<std::string> names;    // an iterator's is its path
  std::vector<IteratorFacts> facts;  // as long
  std::vector<HostThread> threads;
};

// What one event says of itself: an XPlane's stats and a trace.json's arguments have the same
// names.
struct HostArguments {
  std::optional<uint64_t> step;          // step_num
  std::optional<std::string_view> call;  // tf_function_call: of a tf.function, and whether traced
  bool eager = false;                    // an op that Python ran by itself,
  bool function = false;                 // or a function
  uint64_t id = 0;
  uint64_t parent = 0;
  uint64_t produced = 0;
  uint64_t consumed = 0;
  std::optional<uint64_t> parallelism;
  std::optional<uint64_t> buffer;
  std::optional<uint64_t> batch;
  std::optional<std::string_view> shapes;
  std::optional<std::string_view> types;
  std::optional<bool> drop_remainder;
  std::optional<uint64_t> cycle_length;
  std::optional<uint64_t> block_length;
  std::optional<uint64_t> num_shards;
  std::optional<bool> deterministic;
  std::optional<bool> tuned;
};

// Collects the events of a file. What is kept is charged to the builder's allowance.
class HostRecord {
 public:
  explicit HostRecord(RunBuilder& builder) : builder_(builder) {}

  // Counts what an event says of compilations and of its thread's eager ops. Gives the event's
  // role, which it has by the name or else by its arguments; events of a role go to Keep.
  HostRole Note(HostThread& thread, HostRole by_name, const HostArguments& said, int64_t start_ns,
                int64_t end_ns);
  // The number of a name; an iterator's is its path's.
  uint32_t NameOf(HostRole by_name, std::string text);
  void Keep(HostThread& thread, HostRole role, uint32_t name, const HostArguments& said,
            int64_t start_ns, int64_t end_ns);
  HostEvents& events() { return events_; }

  // Adds the pipeline and the totals to the run, and gives the steps: the trainer's numbered ones,
  // else `derived`, else, where hardly any batches are waited for, the calls of its function.
  std::vector<StepMark> Finish(std::vector<StepMark> derived);
  // Of the pipeline, after Finish().
  bool has_pipeline() const { return has_pipeline_; }
  uint32_t samples_per_batch() const { return samples_per_batch_; }  // 0: unknown

 private:
  RunBuilder& builder_;
  HostEvents events_;
  std::unordered_map<std::string, uint32_t> names_;
  std::vector<Occurrence> compilations_;  // and calls for which a function was traced
  bool has_pipeline_ = false;
  uint32_t samples_per_batch_ = 0;
};

}  // namespace stallscope::importers
