// What rules ask of a case. Private to the room; any thread.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/findings.h"
#include "analyzer/words/words.h"

namespace stallscope::findings {

using attribution::At;
using attribution::Category;
using attribution::Cause;

// Of the window; 0 if the trace does not show it.
double Share(const Case& c, Category category);
// "launch 12.0%, communication 3.1%": without those that the trace does not show.
std::string KnownShares(const Case& c, std::initializer_list<Category> categories);
// The stall's parts, as shares of the window.
double Blamed(const Case& c, StageId stage);
double Blamed(const Case& c, StageId stage, std::initializer_list<Cause> causes);
double BlamedOn(const Case& c, Cause cause);
// The part that less work in the stage would shorten: neither keeping the order nor a burst.
double BlamedForWork(const Case& c, StageId stage);
// The part of step time in which the stage has the cores that the trainer's thread is ready for.
double TakenBy(const Case& c, StageId stage);

// Whether time in this category is worth a change: there is enough of it, and the verdict is not
// that something else bounds the run.
bool Worth(const Case& c, Category category);
// The host works on something else between a few launches.
bool BusyBetweenLaunches(const Case& c);
bool LaunchesAreWorth(const Case& c);  // and are what the host works on
// Enough of the stall is blamed on this stage, for these causes.
bool WorthAt(const Case& c, StageId stage, std::initializer_list<Cause> causes);

const attribution::StageUse* UseOf(const Case& c, StageId stage);
// The ranks of a job whose loaders have this stage: each has its part of the stage's workers.
int64_t RanksOf(const Case& c, StageId stage);
// What each of the ranks that share a machine may use of it, a whole one at least.
int64_t CoresOfRank(const Case& c);
// Otherwise it runs in the threads of another stage, or in the trainer's.
bool HasOwnThreads(const Case& c, StageId stage);
// What a patch applies to: the run's spec, or the one that stands for its stages. Null without
// either.
const Spec* ChangeableSpec(const Case& c);
// None if no stage has this name.
StageId StageNamed(const Case& c, std::string_view name);
// Every stage of the run but the trainer, each after its inputs; ties by id.
std::vector<StageId> InOrder(const Case& c);

enum class StageRole {
  kSource,
  kShard,
  kRepeat,
  kFilter,
  kShuffle,
  kPrefetch,
  kMap,
  kCache,
  kBatch,
  kTrainer,
  kOther
};
// By the stage's kind; foreign traces have names of their own ("ParallelMapV2").
StageRole RoleOf(const Case& c, StageId stage);
// Its framework's tuner chooses its workers already.
bool IsTuned(const Case& c, StageId stage);
// PyTorch's, as its profiler sees it: workers of its own are other processes.
bool IsDataLoader(const Case& c, StageId stage);
// It chooses the indices of a job's batches.
bool IsSampler(const Case& c, StageId stage);
// Of a recorded job, the loader that this stage belongs to; null for other stages.
const model::Loader* JobLoaderOf(const Case& c, StageId stage);
// The number of shards that the workers of a job's data set divide; 0 if none, or unknown.
int64_t ShardsOf(const model::Loader& loader);
// The passes over a job's loader that fed steps.
struct Passes {
  size_t count = 0;
  uint64_t steps = 0;
  double mean_ns = 0;       // from the first step of one to that of the next; 0: there is only one
  bool left_early = false;  // before the loader had given all of its batches
  // As next(iter(loader)) does.
  bool OnePerStep() const;
};
Passes PassesOf(const Case& c, LoaderId loader);
// Each worker yields all of the job's data set, a stream: so its code shows.
bool RepeatsInWorkers(const model::Loader& loader);
// "multiprocessing.Lock (data.py:31)"; empty if the trace does not show it.
std::string SharedLockOf(const Case& c, StageId stage);
// "Resize (train.py:12)", without the place where that is unknown.
std::string OpWithPlace(const attribution::OpUse& op);
// The stage's name, or "the input".
std::string NameOf(const Case& c, StageId stage);
// "decode", "decode and crop", "decode, crop and flip".
std::string NamesOf(const Case& c, const std::vector<StageId>& stages);

// The device is an accelerator, not the host's cores.
bool HasAccelerator(const Case& c);
// The steps whose gradients make one update of the model; 1 without a spec.
int64_t BatchesPerUpdate(const Case& c);
// Its kernels' times depend on what they compute; an emulated device's are given.
bool ComputesReally(const Case& c);
// True if the spec defines what the device's work takes.
bool IsEmulated(const Case& c);

// True if the trace shows how much of the stage's work was on a core.
bool KnowsCpu(const attribution::StageUse& use);
// Why nothing can be predicted of more of the host's work at a time, and what to record; empty
// where it can.
std::string WhyNotSideBySide(const Case& c);
// ", no more than the machine has cores" if their number is unknown.
std::string UpToTheCores(const Case& c);
// The number of workers in code, limited to the cores if their number is unknown.
std::string WorkersInCode(const Case& c, int64_t workers);

// The median, in nanoseconds; 0 without steps.
double MedianStepNs(const Case& c);
// Elements in one epoch; 0 if the run does not show it.
uint64_t ElementsOfEpoch(const Case& c);
bool HasSeveralEpochs(const Case& c);
// Number of files of this source, or that were read if it does not give it; 0 if the trace does not
// show either.
size_t FilesOf(const Case& c, StageId source);
// Mean bytes of an element as its source read it; 0 if unknown.
double BytesOfElement(const Case& c);
// Mean bytes of a sample in a batch; 0 if unknown.
double BytesOfSample(const Case& c);
// Mean bytes of a batch as it is copied to one device; 0 if no copy was recorded.
double BytesOfBatch(const Case& c);
// What the program could still allocate; 0 if unknown.
uint64_t FreeMemory(const Case& c);
// The memory of the device with the highest use, and its peak use.
struct DeviceRoom {
  double limit = 0;
  double peak = 0;
};
// Nothing if the trace does not show both.
std::optional<DeviceRoom> DeviceRoomOf(const Case& c);
// A warning to put before a change that needs this much more device memory; empty if it fits, or if
// the trace does not show it.
std::string BeforeMoreDeviceMemory(const Case& c, double more_bytes);

struct CountedTime {
  uint64_t count = 0;
  double share = 0;  // of the window
};

// What an imported run's counters `name` and "`name` time" added up in the window: how often
// something happened, and how long it took. Zero without them.
CountedTime CountedIn(const Case& c, std::string_view name);

// The file's index among all that were read, by name. Nothing if it holds a single element: then
// it is not a shard.
std::optional<size_t> ShardOf(const Case& c, trace::StringId file);

// How the figures of a finding read.
using words::Bytes;
using words::Counted;
using words::Duration;
using words::Percent;

}  // namespace stallscope::findings
