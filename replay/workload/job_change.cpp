#include "replay/workload/job_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "replay/workload/job_costs.h"

namespace stallscope::replay {
namespace {

// Halves of 90% intervals, as a part of the throughput; METHOD.md says where they come from.
constexpr double kProcessesDoubt = 0.03;  // per doubling: they share caches and memory bandwidth
constexpr double kMovedDoubt = 0.05;      // work that moves into or out of other processes
constexpr double kMathDoubt = 0.10;    // per doubling: the parallel part of the math is an estimate
constexpr double kSizeDoubt = 0.10;    // per doubling: only one size was seen
constexpr double kShardsDoubt = 0.10;  // of an iterable data set's other shards
constexpr double kOrderDoubt = 0.02;
constexpr double kHelpersDoubt = 0.05;  // threads and processes of grain make parts of batches
// Workers times the part of their work that holds a lock: from here on they take turns.
constexpr double kTurns = 1.1;
constexpr const char* kLoadsInThreads =
    "other threads of the process, probably a math library's, help to load, and one run does not "
    "show what each of them gains";

class JobComparison {
 public:
  JobComparison(const Recorded& recorded, const Spec& to)
      : recorded_(recorded), costs_(*recorded.job), to_(to) {}

  JobChange Compare() {
    for (const StageSpec& stage : to_.stages) {
      const auto before =
          std::find_if(recorded_.spec.stages.begin(), recorded_.spec.stages.end(),
                       [&](const StageSpec& other) { return other.name == stage.name; });
      if (before == recorded_.spec.stages.end()) {
        Cannot(stage.name, "the recorded job has no such loader");
      } else if (&*before != &recorded_.spec.stages.front() && before->kind != stage.kind) {
        CompareEvaluation(stage);
      }
    }
    if (const LoaderSpec* const loader = FirstLoader(to_)) CompareLoader("loader", *loader, costs_);
    CompareThreads();
    if (to_.env != recorded_.spec.env) {
      Cannot("env", "one run cannot tell what another variable does");
    }
    return std::move(change_);
  }

 private:
  // The first reason counts.
  void Cannot(const std::string& path, const std::string& why) {
    if (!change_.unpriceable.empty()) return;
    change_.unpriceable = fmt::format("{}: {}; record a few steps with the change", path, why);
  }
  void Doubt(double more, std::string assumption = "") {
    change_.doubt = std::sqrt(change_.doubt * change_.doubt + more * more);
    if (!assumption.empty()) change_.assumptions.push_back(std::move(assumption));
  }
  static double Doublings(int64_t before, int64_t now) {
    const double ratio = static_cast<double>(std::max<int64_t>(1, now)) /
                         static_cast<double>(std::max<int64_t>(1, before));
    return std::round(std::fabs(std::log2(ratio)) * 1e6) / 1e6;
  }

  // A loader that the job evaluates with between its steps.
  void CompareEvaluation(const StageSpec& stage) {
    const auto* const now = std::get_if<LoaderSpec>(&stage.kind);
    const auto seen =
        std::find_if(costs_.evaluations.begin(), costs_.evaluations.end(),
                     [&](const Evaluation& other) { return other.loader == stage.name; });
    if (now == nullptr || seen == costs_.evaluations.end()) {
      return Cannot(stage.name,
                    "it does not feed the recorded steps, and its batches were not seen");
    }
    CompareLoader(stage.name, *now, *seen->costs);
  }

  void CompareLoader(const std::string& name, const LoaderSpec& now, const JobCosts& costs) {
    const LoaderSpec& before = costs.loader;
    if (costs.of_grain) return CompareGrain(name, now, costs);
    if (now.num_workers != before.num_workers) CompareWorkers(name, now, costs);
    if (now.pin_memory != before.pin_memory) ComparePinning(name, costs);
    if (now.num_shards != before.num_shards) {
      Cannot(name + ".num_shards", "one run does not show what another worker's share would cost");
    }
    if (now.num_workers == 0) return CompareBatch(name, before, now);
    const bool starts_again = !costs.passes.empty();
    // Without any in the recording, how they start is assumed.
    const bool had_workers = before.num_workers > 0;
    if (now.persistent_workers != before.persistent_workers && starts_again && had_workers &&
        !costs.start) {
      Cannot(name + ".persistent_workers", "the recording does not show how workers start");
    }
    if (now.persistent_workers != before.persistent_workers && costs.made_again) {
      Cannot(name + ".persistent_workers",
             "the job makes a new loader for each pass, with workers of its own");
    }
    const bool other_start = now.multiprocessing_context != before.multiprocessing_context &&
                             now.multiprocessing_context != StartMethod::kInherited && had_workers;
    if (other_start && starts_again && !now.persistent_workers) {
      Cannot(name + ".multiprocessing_context",
             "one run cannot tell how long workers take to start in another way");
    }
    if (now.in_order != before.in_order) Doubt(kOrderDoubt);
    CompareBatch(name, before, now);
  }

  // Its processes make whole batches, its threads the elements that its buffer has room for.
  void CompareGrain(const std::string& name, const LoaderSpec& now, const JobCosts& costs) {
    const LoaderSpec& before = costs.loader;
    if (now == before) return;
    const std::string processes = name + ".num_workers";
    const std::string threads = name + ".threads";
    const bool starts = before.num_workers > 0 || now.num_workers > 0;
    if (starts && (before.threads > 0 || now.threads > 0)) {
      return Cannot(before.num_workers != now.num_workers ? processes : threads,
                    "one run does not show threads in processes");
    }
    if (starts && !costs.passes.empty()) {
      return Cannot(processes, "the recording does not show how processes start in each epoch");
    }
    const auto reads_ahead = [&](const LoaderSpec& loader) {
      return loader.threads == 0 || static_cast<double>(loader.prefetch) >= costs.samples;
    };
    if (!reads_ahead(before) || !reads_ahead(now)) {
      return Cannot(threads,
                    "the buffer of its threads has room for less than a batch, so that "
                    "little of their work is ahead of the loop");
    }
    if (starts) return CompareWorkers(name, now, costs);
    Doubt(kProcessesDoubt * Doublings(before.threads, now.threads));
    Doubt(kHelpersDoubt, threads +
                             ": threads share the interpreter's lock: assumes that what they "
                             "compute is done beside the loop, or in turns with it");
  }

  void ComparePinning(const std::string& name, const JobCosts& costs) {
    if (!costs.pins) return;  // it does nothing here
    if (costs.copy_ns <= 0) {
      return Cannot(name + ".pin_memory",
                    "one run does not show what pinning costs and what copies gain");
    }
    Doubt(kMovedDoubt,
          name +
              ".pin_memory: assumes that a copy from pageable memory takes one to three "
              "times as long, and that pinning copies 2 to 12 GB/s");
  }

  void CompareWorkers(const std::string& name, const LoaderSpec& now, const JobCosts& costs) {
    const LoaderSpec& before = costs.loader;
    const auto workers = static_cast<double>(now.num_workers);
    if (now.num_workers > before.num_workers && workers * costs.held > kTurns) {
      Cannot(name + ".num_workers",
             "the workers share a lock, so more of them would wait for one another");
    }
    Doubt(kProcessesDoubt * Doublings(before.num_workers, now.num_workers));
    if ((now.num_workers == 0) != (before.num_workers == 0)) Doubt(kMovedDoubt);
    if (before.num_workers == 0 && costs.in_pools) {
      return Cannot(name + ".num_workers",
                    "the data set waits for a pool of the job's own, which does not work in "
                    "processes that are started behind it");
    }
    if (before.num_workers == 0 && costs.loads_in_threads) {
      return Cannot(name + ".num_workers", kLoadsInThreads);
    }
    if (now.num_workers > 0 && !costs.sends) {
      Doubt(0, name +
                   ".num_workers: a recording without workers does not show what starting them and "
                   "handing batches over costs; record with num_workers=1 for a narrow interval");
    }
    if (!before.iterable) return;
    const std::string shards = name +
                               ".num_workers: each worker iterates over the data set: assumes that "
                               "it takes only its share";
    change_.by_name_only = shards;
    Doubt(kShardsDoubt, shards);
  }

  void CompareBatch(const std::string& name, const LoaderSpec& before, const LoaderSpec& now) {
    if (now.batch_size == before.batch_size) return;
    if (now.batch_size == 0 || before.batch_size == 0) {
      return Cannot(name + ".batch_size", "the job's own sampler decides it");
    }
    if (&before != &costs_.loader) {
      return Cannot(name + ".batch_size",
                    "one run does not show what evaluation costs at another batch size");
    }
    const char* const kTrained =
        "loader.batch_size: another batch size changes what is trained; assumes that a step's time "
        "grows with the batch";
    change_.by_name_only = kTrained;
    Doubt(kSizeDoubt * Doublings(before.batch_size, now.batch_size), kTrained);
  }

  void CompareThreads() {
    const int64_t now = to_.job.threads;
    if (now == recorded_.spec.job.threads || now == 0) return;
    if (costs_.loads_in_threads) return Cannot("job.threads", kLoadsInThreads);
    if (!costs_.math_threads_set.empty()) {
      if (change_.unpriceable.empty()) {
        change_.unpriceable = fmt::format(
            "job.threads: has no effect, because the job sets the number of threads itself ({})",
            costs_.math_threads_set);
      }
      return;
    }
    if (costs_.math_ns == 0) {
      return Doubt(0,
                   "job.threads: no work of a math library's threads was recorded: assumes that "
                   "their number does not matter");
    }
    if (costs_.math_threads < 2) {
      return Cannot("job.threads", "one run cannot tell what of a step its threads could share");
    }
    Doubt(kMathDoubt * std::max(1.0, Doublings(costs_.math_threads, now)),
          "job.threads: assumes that what the library's threads burned is shared evenly");
  }

  const Recorded& recorded_;
  const JobCosts& costs_;
  const Spec& to_;
  JobChange change_;
};

}  // namespace

JobChange CompareJob(const Recorded& recorded, const Spec& to) {
  return JobComparison(recorded, to).Compare();
}

}  // namespace stallscope::replay
