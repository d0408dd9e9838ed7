// The input pipeline that a spec describes, running.
//
// Stages pull: the trainer asks the last one, which asks the one before it. A stage without
// parallelism works in the thread that asks; parallel ones, and prefetch, have threads of their
// own and a bounded queue. So a spec without either runs as one thread, as tf.data does.
//
// Next() belongs to one thread at a time; Cancel() may come from any. Next() returns an error in
// any worker once the elements before it are taken, and again on every later call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/plan/plan.h"
#include "analyzer/spec/spec.h"
#include "collectors/data/buffer.h"
#include "collectors/pipeline/element.h"
#include "collectors/pipeline/slow_down.h"
#include "collectors/pipeline/stage_ranges.h"
#include "collectors/recorder/recorder.h"

namespace stallscope::pipeline {

using plan::OpInstance;

// A map that the spec puts on the device: the pipeline leaves its ops to the trainer, which runs
// them on each batch when it has been copied.
struct DeviceMap {
  StageId stage;
  std::string name;
  std::vector<OpInstance> ops;
};

struct PipelineOptions {
  recorder::Recorder* recorder = nullptr;  // null: nothing is recorded
  // Where batches are stored: a device's pinned memory. Null: ordinary memory. Must outlive every
  // batch.
  data::BufferMemory* batch_memory = nullptr;
  bool digest = false;
  StageRanges ranges;  // around the work of maps and batches
  // May slow a stage; null: never. Must outlive the pipeline.
  SlowDown* slow_down = nullptr;
  // A folder for what caches and snapshots write. The paths in the spec are then only read, and
  // only stores that are complete and match this data and prefix. Empty: the paths in the spec.
  std::string stores;
};

struct PipelineStats {
  uint64_t elements = 0;  // that the source gave
  uint64_t skipped = 0;   // bad ones, with on_error: skip
  uint64_t skipped_bytes = 0;
  std::string first_skipped;       // the error of the first of them
  std::vector<std::string> notes;  // what a user should know, once each
};

class Pipeline {
 public:
  // Opens the files and starts the threads.
  static Result<std::unique_ptr<Pipeline>> Build(const Spec& spec, const PipelineOptions& options);
  ~Pipeline();  // cancels and joins
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // The next batch (or element, where the spec has no batch); nothing when the data has ended.
  Result<std::optional<Element>> Next();
  // Gives a batch's memory back, so that the next ones need not fault in fresh pages.
  void Recycle(Element&& batch);
  // Ends every wait and every later Next() with an error. Any thread.
  void Cancel();

  const std::vector<DeviceMap>& device_maps() const;
  // What the stages became after rewrites, as JSON.
  const std::string& graph_json() const;
  const std::string& data_fingerprint() const;
  // XXH3-128 over every batch that Next() gave; empty if it was not requested.
  std::string Digest() const;
  PipelineStats stats() const;

 private:
  struct Parts;
  explicit Pipeline(std::unique_ptr<Parts> parts);
  static Result<std::unique_ptr<Pipeline>> BuildParts(const Spec& spec,
                                                      const PipelineOptions& options);
  std::unique_ptr<Parts> parts_;
};

}  // namespace stallscope::pipeline
