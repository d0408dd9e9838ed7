// What a recorded job's trace says of one of its loaders: batch by batch, of the thread that
// trains, and of the processes. Private to the room; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/intervals.h"
#include "analyzer/model/run.h"
#include "replay/workload/job_costs.h"
#include "replay/workload/span_costs.h"
#include "replay/workload/unseen_cpu.h"

namespace stallscope::replay {

enum class Role : uint8_t { kNone, kSample, kFetch, kCollate, kTransport, kPin, kTrain };

struct BatchRow {
  BatchCost cost;
  bool fetched = false;
  bool collated = false;
  bool sent = false;
  bool received = false;
};

struct JobProcess {
  std::optional<uint32_t> worker;  // its number
  std::vector<RecordedWork> work;  // of its recorded threads
  CpuSamples cpu;
  std::optional<std::pair<int64_t, int64_t>> booted;  // a worker: from its start to its first batch
};

struct JobRecord {
  std::vector<Role> roles;            // by stage
  std::map<uint64_t, BatchRow> rows;  // by item
  bool collates = false;              // any batch was collated
  Cost ahead;                         // of grain: what its threads and processes did in the window
  bool pinned = false;                // any batch was
  std::vector<JobProcess> processes;  // as those of the run
  Shares trainer;
  std::map<uint64_t, int64_t> step_cpu_ns;  // by item
  // Of the thread that trains.
  std::vector<attribution::Interval> startups;   // of this loader's workers
  std::vector<attribution::Interval> samplings;  // choosing indices
  std::vector<attribution::Interval> in_loader;  // everything that is recorded there, and no step
  std::vector<attribution::Interval> own;        // those that certainly belong to this loader
  // Evaluation batches and starts of other loaders' workers, which do not overlap.
  std::vector<attribution::Interval> evaluated;

  // A fetch that collates nothing found the end of the data.
  bool Whole(const BatchRow& row) const { return row.fetched && (row.collated || !collates); }
};

JobRecord ReadJobRecord(const model::Run& run, const attribution::Attribution& attribution,
                        const model::Loader& loader);

}  // namespace stallscope::replay
