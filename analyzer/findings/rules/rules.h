// Every rule, and the row of the field's checklist that it answers for. Private to the room.
//
// A rule reads a case and adds what it has to say; it knows no other rule. `load` is null where the
// run has no steps. Rules are pure, and run in the order of this table.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_RULES_RULES_H_
#define STALLSCOPE_ANALYZER_FINDINGS_RULES_RULES_H_

#include <span>
#include <string_view>
#include <vector>

#include "analyzer/findings/draft.h"

namespace stallscope::findings {

struct RuleEntry {
  std::string_view id;  // of its findings
  int row = 0;          // of the checklist; 0: of no single technique
  Rule rule = nullptr;
};
std::span<const RuleEntry> AllRules();

#define STALLSCOPE_RULE(Name) void Name(const Case& c, const Load* load, std::vector<Draft>& drafts)
STALLSCOPE_RULE(RecordFormat);
STALLSCOPE_RULE(ParallelReads);
STALLSCOPE_RULE(Sharding);
STALLSCOPE_RULE(MapParallelism);
STALLSCOPE_RULE(LoaderWorkers);
STALLSCOPE_RULE(PersistentWorkers);
STALLSCOPE_RULE(Order);
STALLSCOPE_RULE(Autotune);
STALLSCOPE_RULE(Vectorise);
STALLSCOPE_RULE(MapFusion);
STALLSCOPE_RULE(MapAndBatch);
STALLSCOPE_RULE(Cache);
STALLSCOPE_RULE(CachePlace);
STALLSCOPE_RULE(Snapshot);
STALLSCOPE_RULE(PrecomputedAugmentation);
STALLSCOPE_RULE(ShuffleBuffer);
STALLSCOPE_RULE(ShufflePlace);
STALLSCOPE_RULE(Prefetch);
STALLSCOPE_RULE(BatchSize);
STALLSCOPE_RULE(DropRemainder);
STALLSCOPE_RULE(PinnedMemory);
STALLSCOPE_RULE(CopyOverlap);
STALLSCOPE_RULE(CopySize);
STALLSCOPE_RULE(NarrowDtype);
STALLSCOPE_RULE(DevicePreprocessing);
STALLSCOPE_RULE(RedundantWork);
STALLSCOPE_RULE(LateCast);
STALLSCOPE_RULE(KernelFusion);
STALLSCOPE_RULE(CapturedGraph);
STALLSCOPE_RULE(Retracing);
STALLSCOPE_RULE(EagerOps);
STALLSCOPE_RULE(MixedPrecision);
STALLSCOPE_RULE(LossScale);
STALLSCOPE_RULE(Strategy);
STALLSCOPE_RULE(IdleDevice);
STALLSCOPE_RULE(SerialSource);
STALLSCOPE_RULE(DecodeScaled);
STALLSCOPE_RULE(DecodeCrop);
STALLSCOPE_RULE(MemoryRisk);
STALLSCOPE_RULE(Stragglers);
STALLSCOPE_RULE(SlowShard);
STALLSCOPE_RULE(SlowRank);
STALLSCOPE_RULE(WarmUp);
STALLSCOPE_RULE(CpuLimit);
STALLSCOPE_RULE(SyncPoints);
STALLSCOPE_RULE(ComputeBound);
STALLSCOPE_RULE(Balanced);
STALLSCOPE_RULE(Inconclusive);
#undef STALLSCOPE_RULE

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_RULES_RULES_H_
