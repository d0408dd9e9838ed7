#include "analyzer/findings/rules/rules.h"

#include <array>

namespace stallscope::findings {

std::span<const RuleEntry> AllRules() {
  static constexpr std::array kRules = {
      RuleEntry{"record-format", 1, RecordFormat},
      RuleEntry{"parallel-reads", 2, ParallelReads},
      RuleEntry{"sharding", 3, Sharding},
      RuleEntry{"map-parallelism", 4, MapParallelism},
      RuleEntry{"loader-workers", 4, LoaderWorkers},
      RuleEntry{"persistent-workers", 4, PersistentWorkers},
      RuleEntry{"order", 4, Order},
      RuleEntry{"autotune", 5, Autotune},
      RuleEntry{"vectorise", 6, Vectorise},
      RuleEntry{"map-fusion", 7, MapFusion},
      RuleEntry{"map-and-batch", 7, MapAndBatch},
      RuleEntry{"cache", 8, Cache},
      RuleEntry{"cache-place", 8, CachePlace},
      RuleEntry{"snapshot", 9, Snapshot},
      RuleEntry{"precomputed-augmentation", 10, PrecomputedAugmentation},
      RuleEntry{"shuffle-buffer", 11, ShuffleBuffer},
      RuleEntry{"shuffle-place", 11, ShufflePlace},
      RuleEntry{"prefetch", 12, Prefetch},
      RuleEntry{"batch-size", 13, BatchSize},
      RuleEntry{"drop-remainder", 13, DropRemainder},
      RuleEntry{"pinned-memory", 14, PinnedMemory},
      RuleEntry{"copy-overlap", 14, CopyOverlap},
      RuleEntry{"copy-size", 14, CopySize},
      RuleEntry{"narrow-dtype", 15, NarrowDtype},
      RuleEntry{"device-preprocessing", 16, DevicePreprocessing},
      RuleEntry{"redundant-work", 17, RedundantWork},
      RuleEntry{"late-cast", 17, LateCast},
      RuleEntry{"kernel-fusion", 17, KernelFusion},
      RuleEntry{"captured-graph", 18, CapturedGraph},
      RuleEntry{"retracing", 18, Retracing},
      RuleEntry{"eager-ops", 18, EagerOps},
      RuleEntry{"mixed-precision", 19, MixedPrecision},
      RuleEntry{"loss-scale", 19, LossScale},
      RuleEntry{"strategy", 20, Strategy},
      RuleEntry{"idle-device", 20, IdleDevice},
      RuleEntry{"serial-source", 21, SerialSource},
      RuleEntry{"decode-scaled", 22, DecodeScaled},
      RuleEntry{"decode-crop", 22, DecodeCrop},
      RuleEntry{"memory-risk", 23, MemoryRisk},
      RuleEntry{"stragglers", 24, Stragglers},
      RuleEntry{"slow-shard", 24, SlowShard},
      RuleEntry{"slow-rank", 24, SlowRank},
      RuleEntry{"warm-up", 24, WarmUp},
      RuleEntry{"cpu-limit", 0, CpuLimit},
      RuleEntry{"sync-points", 0, SyncPoints},
      RuleEntry{"compute-bound", 0, ComputeBound},
      RuleEntry{"balanced", 0, Balanced},
      RuleEntry{"inconclusive", 0, Inconclusive},
  };
  return kRules;
}

}  // namespace stallscope::findings
