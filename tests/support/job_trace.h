// A small job to look at: train.py, whose loader's workers get each element from a store. The
// trainer waits for about half of the time, for the store.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/trace_builder.h"

namespace stallscope::test {

constexpr const char* kJobScript = "/home/u/train.py";

struct JobShape {
  uint32_t workers = 2;  // 0: the main thread fetches
  uint64_t steps = 12;
  uint32_t exit_code = 0;
  int64_t trains_at_ns = 5'000'000;
  int64_t computes_ns = 8'000'000;
  std::string folder = "/home/u";  // of train.py
  trace::CallSite call = {};       // of the loader's constructor
  uint32_t ranks = 1;              // processes that train
  int64_t slower_ns = 0;           // each rank's fetching than the one's before
};

namespace job {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kFetchNs = 30 * kMs;
constexpr uint64_t kMainPid = 700;

// What a process used by the end, as two samples of each counter.
inline void AddCounters(TraceBuilder& trace, ProcessId process, uint64_t pid, int64_t end_ns,
                        TrackId thread) {
  const std::string of = "process" + std::to_string(pid);
  const std::string of_thread = "thread" + std::to_string(trace.ThreadNumber(thread));
  const auto add = [&](const std::string& name, const char* unit, double value) {
    const CounterId counter = trace.Counter(name, unit, process);
    trace.rows().Add(trace::Sample{kMs, value / 4, counter});
    trace.rows().Add(trace::Sample{end_ns, value, counter});
  };
  const auto number = static_cast<double>(pid);
  add(of + ".cpu", "ns", number * 1e5);
  add(of + ".rss", "bytes", number * 1e5);
  add(of + ".io_requested", "bytes", number * 2e4);
  add(of + ".io_from_disk", "bytes", 0);
  add(of_thread + ".on_cpu", "ns", number * 1e5);
  add(of_thread + ".run_wait", "ns", number * 2e3);
}

}  // namespace job

// Its stage "trainer" is all ranks'. Returns when the rank ends.
inline int64_t AddRank(TraceBuilder& trace, const JobShape& shape, uint32_t rank,
                       StageId& trainer) {
  using namespace job;  // NOLINT(google-build-using-namespace)
  const uint64_t pid = kMainPid + 100 * rank;
  const int64_t fetch_ns = kFetchNs + rank * shape.slower_ns;
  const ProcessId main = trace.Process("train.py", pid);
  trace.loader = trace.Loader(
      {.process = main,
       .kind = "torch.utils.data.DataLoader",
       .dataset = "Images",
       .file = shape.folder + "/train.py",
       .line = 41,
       .settings_json = R"({"batch_size":16,"collate_fn":"default_collate","num_workers":)" +
                        std::to_string(shape.workers) +
                        R"(,"persistent_workers":false,"prefetch_factor":2,"worker_init_fn":null})",
       .call = shape.call});
  const StageId fetch = trace.Stage("fetch", "map", shape.workers);
  const StageId transport = trace.Stage("transport", "transport", shape.workers, {fetch});
  const StageId loader = trace.Stage("loader", "prefetch", 1, {transport});
  const QueueId queue = trace.Queue("loader", 2 * shape.workers, loader);
  const uint64_t batches = uint64_t{trace.loader.value} << 48U;
  trace.loader = {};
  if (!trainer.known()) trainer = trace.Stage("trainer", "trainer", 1, {loader});
  const trace::StringId get = trace.Text("Store.get");
  const trace::StringId resize = trace.Text("Resize");
  const TrackId trained = trace.Thread("main", trainer, main);
  std::vector<ProcessId> processes = {main};
  std::vector<TrackId> fetching;
  std::vector<TrackId> sending;
  for (uint32_t i = 0; i < shape.workers; ++i) {
    const std::string name = "worker " + std::to_string(i);
    processes.push_back(trace.Process(name, pid + 11 + i, pid));
    fetching.push_back(trace.Thread(name, fetch, processes.back()));
    sending.push_back(trace.Thread(name + " feeder", transport, processes.back()));
  }
  if (shape.workers == 0) fetching.push_back(trained);
  const int64_t apart = fetch_ns / std::max(1U, shape.workers);
  int64_t requested = shape.trains_at_ns;
  for (uint64_t step = 0; step < shape.steps; ++step) {
    const size_t worker = step % fetching.size();
    const int64_t from =
        shape.workers == 0 ? requested : shape.trains_at_ns + apart * static_cast<int64_t>(step);
    const int64_t to = from + fetch_ns;
    const ItemId batch{batches | step};
    trace.OpWork(fetching[worker], fetch, get, from + 2 * kMs, to - 3 * kMs);
    trace.OpWork(fetching[worker], fetch, resize, to - 3 * kMs, to - kMs);
    trace.Work(fetching[worker], fetch, from, to, batch);
    trace.rows().AddCost(0, 3 * kMs);
    int64_t received = to;
    if (shape.workers > 0) {
      trace.Work(sending[worker], transport, to, to + kMs / 2, batch);
      received = std::max(to, requested) + kMs;
      trace.Wait(trained, trace::WaitCause::kEmpty, queue, requested, received - kMs / 2);
      trace.Work(trained, transport, received - kMs / 2, received, batch);
    }
    trace.Work(trained, trainer, received, received + shape.computes_ns, batch);
    trace.rows().Add(trace::Step{step, requested, received, received, received + shape.computes_ns,
                                 batch, trained, 16, 0});
    requested = received + shape.computes_ns;
  }
  for (size_t i = 0; i < processes.size(); ++i) {
    AddCounters(trace, processes[i], i == 0 ? pid : pid + 10 + i, requested,
                i == 0 ? trained : fetching[i - 1]);
  }
  return requested;
}

inline void BuildJob(TraceBuilder& trace, const JobShape& shape = {}) {
  trace.run.name = "train.py";
  trace.run.device = {};
  trace.run.folder = shape.folder;
  trace.run.job = {{"python", "train.py", "--data", "a folder"},
                   "3.11.2",
                   {{"torch", "2.9.0"}},
                   shape.exit_code};
  trace.Op("Store.get", kJobScript, 17);
  trace.Op("Resize", "/home/u/lib/transforms.py", 80);
  trace.Lines({kJobScript, 17, {{18, 20'000'000, 96}, {19, 180'000'000, 96}}});
  StageId trainer;
  int64_t end_ns = 0;
  for (uint32_t rank = 0; rank < shape.ranks; ++rank) {
    end_ns = std::max(end_ns, AddRank(trace, shape, rank, trainer));
  }
  trace.Seal(end_ns + job::kMs);
}

}  // namespace stallscope::test
