#include "tests/analyzer/findings/scenarios.h"

namespace stallscope::test {

using attribution::Cause;

namespace {

void AddRepeat(CaseBuilder& b, int64_t count) {
  b.spec.stages.insert(b.spec.stages.begin() + 1, {"repeat", RepeatSpec{count}});
  b.TakeStagesFromSpec();
}

void AddCacheBefore(CaseBuilder& b, size_t stage) {
  b.spec.stages.insert(b.spec.stages.begin() + static_cast<ptrdiff_t>(stage),
                       {"cache", CacheSpec{}});
  b.TakeStagesFromSpec();
}

// read, shuffle, decode, repeat, cache, augment
void CacheBehindRepeat(CaseBuilder& b) {
  AddCacheBefore(b, 3);
  b.spec.stages.insert(b.spec.stages.begin() + 3, {"repeat", RepeatSpec{0}});
  b.TakeStagesFromSpec();
  b.Stall("decode", Cause::kCpu, 0.5);
}

}  // namespace

std::vector<Scenario> StoreScenarios() {
  return {
      {"cache", "every epoch decodes again",
       [](CaseBuilder& b) {
         AddRepeat(b, 0);
         b.Stall("decode", Cause::kCpu, 0.5);
       },
       "there is one epoch only", [](CaseBuilder& b) { b.SpecOf<RepeatSpec>("repeat").count = 1; }},
      {"cache", "every epoch reads again",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"flip"};
         AddRepeat(b, 3);
         b.ReadElements(500, 4, 100'000, 2);
         b.Stall("read", Cause::kIo, 0.5);
       },
       "it is random work that costs the time",
       [](CaseBuilder& b) { b.attribution.blame[0].stage = b.IdOf("augment"); }},
      {"cache-place", "decoded behind the cache",
       [](CaseBuilder& b) {
         AddCacheBefore(b, 1);
         std::swap(b.spec.stages[2], b.spec.stages[3]);  // cache, decode, shuffle
         b.TakeStagesFromSpec();
         b.Stall("decode", Cause::kCpu, 0.5);
       },
       "what it decodes is random",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"decode_jpeg", "flip"};
       }},
      {"cache-place", "decoded behind the snapshot",
       [](CaseBuilder& b) {
         b.spec.stages.insert(b.spec.stages.begin() + 1, {"kept", SnapshotSpec{"kept"}});
         std::swap(b.spec.stages[2], b.spec.stages[3]);  // kept, decode, shuffle
         b.TakeStagesFromSpec();
         b.Stall("decode", Cause::kCpu, 0.5);
       },
       "what it decodes is random",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"decode_jpeg", "flip"};
       }},
      {"cache-place", "a repeat between the cache and the map",
       [](CaseBuilder& b) {
         AddCacheBefore(b, 1);  // cache, shuffle, decode
         b.spec.stages.insert(b.spec.stages.begin() + 2, {"repeat", RepeatSpec{0}});
         b.TakeStagesFromSpec();
         b.Stall("decode", Cause::kCpu, 0.5);
       },
       "decoded elements do not fit into memory",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"decode_jpeg", "resize(224)"};
         b.ReadElements(100'000, 4, 10'000, 2);
         b.UseOf("batch").bytes = b.UseOf("batch").elements * CaseBuilder::kBatch * 150'000;
       }},
      {"cache-place", "a cache behind the repeat", CacheBehindRepeat, "it stands before the repeat",
       [](CaseBuilder& b) {
         std::swap(b.spec.stages[3], b.spec.stages[4]);
         b.TakeStagesFromSpec();
       }},
      {"cache-place", "a cache behind the repeat of what is read",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"flip"};
         AddRepeat(b, 3);
         AddCacheBefore(b, 2);
         b.ReadElements(500, 4, 100'000, 2);
         b.Stall("read", Cause::kIo, 0.5);
       },
       "there is one epoch only", [](CaseBuilder& b) { b.SpecOf<RepeatSpec>("repeat").count = 1; }},
      {"snapshot", "decoding that never changes",
       [](CaseBuilder& b) { b.Stall("decode", Cause::kCpu, 0.5); }, "the time goes into reading",
       [](CaseBuilder& b) { b.attribution.blame[0].stage = b.IdOf("read"); }},
      {"precomputed-augmentation", "augmenting is what takes the time",
       [](CaseBuilder& b) { b.Stall("augment", Cause::kCpu, 0.5); }, "it is not random",
       [](CaseBuilder& b) { b.SpecOf<MapSpec>("augment").ops = {"resize(224)"}; }},
      {"precomputed-augmentation", "a cache behind random work",
       [](CaseBuilder& b) { AddCacheBefore(b, 4); }, "it stands before",
       [](CaseBuilder& b) {
         std::swap(b.spec.stages[3], b.spec.stages[4]);
         b.TakeStagesFromSpec();
       }},
      {"precomputed-augmentation", "a snapshot behind random work",
       [](CaseBuilder& b) {
         b.spec.stages.insert(b.spec.stages.begin() + 4, {"augmented", SnapshotSpec{"augmented"}});
         b.TakeStagesFromSpec();
       },
       "it keeps several variants",
       [](CaseBuilder& b) {
         b.spec.stages.insert(b.spec.stages.begin() + 3, {"variants", RepeatSpec{4}});
         b.TakeStagesFromSpec();
       }},
      {"prefetch", "the batch is made in the trainer's thread",
       [](CaseBuilder& b) {
         b.spec.transfer.prefetch_to_device = 0;
         b.spec.stages.pop_back();
         b.SpecOf<MapSpec>("decode").parallelism = {1, false};
         b.SpecOf<MapSpec>("augment").parallelism = {1, false};
         b.TakeStagesFromSpec();
         b.Stall("decode", Cause::kCpu, 0.4);
         b.UseOf("decode").service_ns.mean *= 0.4;
       },
       "it is made in threads of its own",
       [](CaseBuilder& b) { b.UseOf("batch").runs_in = b.IdOf("batch"); }},
      {"prefetch", "bursts empty two places",
       [](CaseBuilder& b) {
         b.SpecOf<PrefetchSpec>("prefetch").buffer_size = {1, false};
         b.TakeStagesFromSpec();
         b.Stall("decode", Cause::kBuffer, 0.15);
         auto& decode = b.UseOf("decode");
         decode.service_ns.mean = 0.8 * CaseBuilder::kStepNs * decode.workers / CaseBuilder::kBatch;
         decode.service_ns.variation = 8;
       },
       "they are rare", [](CaseBuilder& b) { b.attribution.blame[0].fraction = 0.04; }},
  };
}

}  // namespace stallscope::test
