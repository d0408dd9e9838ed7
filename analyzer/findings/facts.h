// What rules ask of a case. Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_FACTS_H_
#define STALLSCOPE_ANALYZER_FINDINGS_FACTS_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/findings.h"

namespace stallscope::findings {

// Of the window; 0 where the trace cannot tell.
double Share(const Case& c, attribution::Category category);
// The stall's parts, as shares of the window.
double Blamed(const Case& c, StageId stage);
double Blamed(const Case& c, StageId stage, std::initializer_list<attribution::Cause> causes);
double BlamedOn(const Case& c, attribution::Cause cause);
// The part that less work in the stage would shorten: neither kept order nor a burst.
double BlamedForWork(const Case& c, StageId stage);

// Whether time in this category is worth a change: there is enough of it, and the verdict does not
// say that the run is bound by something that no such change would help.
bool Worth(const Case& c, attribution::Category category);
// Enough of the stall is blamed on this stage, for these causes.
bool WorthAt(const Case& c, StageId stage, std::initializer_list<attribution::Cause> causes);

const attribution::StageUse* UseOf(const Case& c, StageId stage);
// Else it works in the threads of another stage, or in the trainer's.
bool HasOwnThreads(const Case& c, StageId stage);
// What a patch is made to: the run's spec, or the one that stands for its stages. Null without
// both.
const Spec* ChangeableSpec(const Case& c);
// None where no stage has this name.
StageId StageNamed(const Case& c, std::string_view name);
// Every stage of the run but the trainer, each behind its inputs; of equals the lowest id first.
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
// By the stage's kind, which foreign traces word in their own way ("ParallelMapV2").
StageRole RoleOf(const Case& c, StageId stage);
// PyTorch's, as its profiler sees it: workers of its own are other processes.
bool IsDataLoader(const Case& c, StageId stage);
// The stage's name, or "the input".
std::string NameOf(const Case& c, StageId stage);

// Work on an accelerator of its own, not on the host's cores.
bool HasAccelerator(const Case& c);
// Real kernels whose time depends on what they compute; an emulated device's are given figures.
bool ComputesReally(const Case& c);

// The median, in nanoseconds; 0 without steps.
double MedianStepNs(const Case& c);
// Elements that one epoch has, or 0 where the run does not tell.
uint64_t ElementsOfEpoch(const Case& c);
bool HasSeveralEpochs(const Case& c);
// Mean bytes of an element as its source read it; 0 where unknown.
double BytesOfElement(const Case& c);
// Mean bytes of a sample in a batch; 0 where unknown.
double BytesOfSample(const Case& c);
// Mean bytes of a batch on its way to one device; 0 where no copy was recorded.
double BytesOfBatch(const Case& c);
// What the program could still take without running out; 0 where unknown.
uint64_t FreeMemory(const Case& c);

struct CountedTime {
  uint64_t count = 0;
  double share = 0;  // of the window
};

// In the window, of the counters `name` and "`name` time". Nothing of it where there are none.
CountedTime CountedIn(const Case& c, std::string_view name);

// The file's place among all that were read, by name, from 0 on. Nothing where a file holds a
// single element: then it is no shard.
std::optional<size_t> ShardOf(const Case& c, trace::StringId file);

// "1 worker", "2 workers".
std::string Counted(int64_t count, std::string_view one, std::string_view many);
// "12 %", "4.1 ms", "1.3 GB".
std::string Percent(double share);
std::string Duration(double ns);
std::string Size(double bytes);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_FACTS_H_
