#include "tests/analyzer/findings/scenarios.h"

namespace stallscope::test {

using attribution::Cause;
using findings::Bound;

namespace {

// An imported run whose maps call this operation of their framework once in each step.
void CallInMaps(CaseBuilder& b, const std::string& name, uint32_t ns) {
  b.with_spec = false;
  b.run.info.imported_from = "xplane";
  trace::SpanClass what;
  what.name = b.Intern(name);
  what.activity = trace::SpanActivity::kOperator;
  b.run.span_classes.push_back(what);
  model::Track detail;
  detail.info.kind = trace::TrackKind::kDetail;
  for (int64_t i = 0; i < CaseBuilder::kSteps; ++i) {
    detail.spans.start_ns.push_back(i * CaseBuilder::kStepNs);
    detail.spans.duration.push_back(ns);
    detail.spans.span_class.push_back(static_cast<uint16_t>(b.run.span_classes.size() - 1));
    detail.spans.item.push_back(ItemId::None().value);
  }
  b.run.tracks.push_back(detail);
  b.Stall("decode", Cause::kUnknown, 0.8);
}

// Two ranks that read the same elements of one file.
void ReadOnTwoRanks(CaseBuilder& b) {
  b.run.info.world_size = 2;
  for (const uint64_t rank : {0U, 1U}) {
    for (uint64_t i = 0; i < 200; ++i) {
      trace::Element element;
      element.item = {rank << 48U | i};
      element.record = i;
      element.file = b.Intern("all.tfrecord");
      b.run.rows.elements.push_back(element);
    }
  }
}

// A shard in two, of which both ranks batch the even elements.
void ShardOnTwoRanks(CaseBuilder& b) {
  b.spec.stages.insert(b.spec.stages.begin() + 1, {"shard", ShardSpec{2, 0}});
  b.TakeStagesFromSpec();
  ReadOnTwoRanks(b);
  const StageId batch = b.IdOf("batch");
  b.run.rows.batches.push_back({0, {1'000}, {}, batch, 100, {}});
  for (const uint64_t rank : {0U, 1U}) {
    for (uint64_t i = 0; i < 200; i += 2) {
      b.run.rows.lineage.push_back({{rank << 48U | i}, {rank << 48U | 1'000}, batch});
    }
  }
}

}  // namespace

std::vector<Scenario> ReadScenarios() {
  return {
      {"record-format", "many small files",
       [](CaseBuilder& b) {
         b.SpecOf<SourceSpec>("read").format = SourceFormat::kImages;
         b.ReadElements(200, 200, 20'000);
         b.Stall("read", Cause::kIo, 0.4);
       },
       "the files are large",
       [](CaseBuilder& b) {
         for (auto& element : b.run.rows.elements) element.bytes = 4'000'000;
       }},
      {"record-format", "record files of one record each",
       [](CaseBuilder& b) {
         b.ReadElements(200, 200, 20'000);
         b.Stall("read", Cause::kIo, 0.4);
       },
       "they have more",
       [](CaseBuilder& b) {
         b.run.rows.elements.clear();
         b.ReadElements(200, 50, 20'000);
       }},
      {"record-format", "CSV, whose parsing is a map's work",
       [](CaseBuilder& b) {
         b.SpecOf<SourceSpec>("read").format = SourceFormat::kCsv;
         b.SpecOf<MapSpec>("decode").ops = {"decode_csv"};
         b.Stall("decode", Cause::kCpu, 0.4);
       },
       "the wait is for another stage",
       [](CaseBuilder& b) { b.attribution.blame[0].stage = b.IdOf("augment"); }},
      {"record-format", "maps that open a file for each element, in TensorFlow's trace",
       [](CaseBuilder& b) { CallInMaps(b, "map/ReadFile:ReadFile", 9'000'000); },
       "opening them takes no time",
       [](CaseBuilder& b) {
         for (auto& ns : b.run.tracks.back().spans.duration) ns = 10'000;
       }},
      {"parallel-reads", "one reader that waits for the disk",
       [](CaseBuilder& b) {
         b.SpecOf<SourceSpec>("read").parallelism = {1, false};
         b.TakeStagesFromSpec();
         b.ReadElements(200, 8, 100'000);
         b.Stall("read", Cause::kIo, 0.4);
       },
       "there is one file only",
       [](CaseBuilder& b) {
         for (auto& element : b.run.rows.elements) element.file = {0};
       }},
      {"parallel-reads", "a short run ends in the first of sixteen files",
       [](CaseBuilder& b) {
         b.SpecOf<SourceSpec>("read").parallelism = {1, false};
         b.TakeStagesFromSpec();
         b.ReadElements(200, 1, 100'000);
         b.run.stages[b.IdOf("read").value].settings["files"] = "16";
         b.Stall("read", Cause::kIo, 0.4);
       },
       "it is the only one",
       [](CaseBuilder& b) { b.run.stages[b.IdOf("read").value].settings["files"] = "1"; }},
      {"parallel-reads", "two readers that sleep",
       [](CaseBuilder& b) { b.Stall("read", Cause::kBlocked, 0.4); }, "the disk gives no more",
       [](CaseBuilder& b) {
         b.SpecOf<SourceSpec>("read").throttle_bytes_per_s = 1'000'000;
         b.attribution.cpu.read_bytes_per_s = 980'000;
       }},
      {"block-length", "a batch comes from one file",
       [](CaseBuilder& b) {
         b.SpecOf<SourceSpec>("read").block_length = 64;
         b.SpecOf<ShuffleSpec>("shuffle").buffer_size = 100;
         b.ReadElements(200, 4, 100'000);
       },
       "the shuffle mixes several files' blocks",
       [](CaseBuilder& b) { b.SpecOf<ShuffleSpec>("shuffle").buffer_size = 128; }},
      {"parallel-reads", "an imported trace does not say what a reader waited for",
       [](CaseBuilder& b) {
         b.with_spec = false;
         b.run.info.imported_from = "xplane";
         b.run.stages[b.IdOf("read").value].kind = "TFRecord";
         b.Stall("read", Cause::kUnknown, 0.4);
       },
       "a generator in Python would not read faster",
       [](CaseBuilder& b) { b.run.stages[b.IdOf("read").value].kind = "Generator"; }},
      {"sharding", "two ranks read everything", [](CaseBuilder& b) { b.run.info.world_size = 2; },
       "each reads its shard",
       [](CaseBuilder& b) {
         b.spec.stages.insert(b.spec.stages.begin() + 1, {"shard", ShardSpec{2, 0}});
         b.TakeStagesFromSpec();
       }},
      {"sharding", "two ranks read the same elements", ReadOnTwoRanks, "each has files of its own",
       [](CaseBuilder& b) {
         for (auto& element : b.run.rows.elements) {
           if (element.item.value >= 200) element.file = b.Intern("others.tfrecord");
         }
       }},
      {"sharding", "two ranks take the same shard", ShardOnTwoRanks, "each takes its own",
       [](CaseBuilder& b) {
         for (auto& row : b.run.rows.lineage) row.in.value += row.in.value >= 200 ? 1 : 0;
       }},
      {"sharding", "a shard of one divides nothing",
       [](CaseBuilder& b) {
         b.run.info.world_size = 2;
         b.spec.stages.insert(b.spec.stages.begin() + 1, {"shard", ShardSpec{1, 0}});
         b.TakeStagesFromSpec();
       },
       "it divides in two", [](CaseBuilder& b) { b.SpecOf<ShardSpec>("shard").count = 2; }},
      {"sharding", "decoded, then thrown away",
       [](CaseBuilder& b) {
         b.spec.stages.insert(b.spec.stages.begin() + 3, {"shard", ShardSpec{4, 1}});
         b.TakeStagesFromSpec();
         b.UseOf("decode").items_per_sample = 4;
         b.Stall("decode", Cause::kCpu, 0.5);
       },
       "the wait is for a stage behind",
       [](CaseBuilder& b) { b.attribution.blame[0].stage = b.IdOf("augment"); }},
      {"serial-source", "a generator",
       [](CaseBuilder& b) {
         b.StageSpecOf("read").kind = SourceSpec{.format = SourceFormat::kSerial, .sleep_us = 300};
         b.TakeStagesFromSpec();
         b.UseOf("read").serial = true;
         b.Stall("read", Cause::kSerial, 0.5);
       },
       "it is fast enough", [](CaseBuilder& b) { b.attribution.blame[0].fraction = 0.04; }},
      {"serial-source", "a Python generator in TensorFlow's trace",
       [](CaseBuilder& b) {
         b.with_spec = false;
         b.run.info.imported_from = "xplane";
         b.run.stages[b.IdOf("read").value].kind = "Generator";
         b.Stall("read", Cause::kUnknown, 0.5);
       },
       "it reads records",
       [](CaseBuilder& b) { b.run.stages[b.IdOf("read").value].kind = "TFRecord"; }},
      {"shuffle-buffer", "fewer elements than two batches",
       [](CaseBuilder& b) { b.SpecOf<ShuffleSpec>("shuffle").buffer_size = 40; }, "two batches",
       [](CaseBuilder& b) { b.SpecOf<ShuffleSpec>("shuffle").buffer_size = 64; }},
      {"shuffle-buffer", "fewer elements than two batches, of many",
       [](CaseBuilder& b) {
         b.SpecOf<ShuffleSpec>("shuffle").buffer_size = 40;
         b.run.rows.elements.assign(41, {});
       },
       "all that there are", [](CaseBuilder& b) { b.run.rows.elements.resize(40); }},
      {"shuffle-buffer", "fewer elements than two batches, in TensorFlow's trace",
       [](CaseBuilder& b) {
         b.with_spec = false;
         b.run.info.imported_from = "xplane";
         model::Queue buffer;
         buffer.info.id = QueueId{static_cast<uint32_t>(b.run.queues.size())};
         buffer.info.capacity = 40;
         buffer.producer = b.IdOf("shuffle");
         b.run.stages[buffer.producer.value].queue = buffer.info.id;
         b.run.queues.push_back(buffer);
       },
       "two batches", [](CaseBuilder& b) { b.run.queues.back().info.capacity = 64; }},
      {"shuffle-place", "decoded pictures in the buffer",
       [](CaseBuilder& b) {
         std::swap(b.spec.stages[1], b.spec.stages[2]);
         b.TakeStagesFromSpec();
         b.ReadElements(100, 2, 100'000);
         b.attribution.memory.stages.push_back({b.IdOf("shuffle"), 600'000'000});
       },
       "it is small", [](CaseBuilder& b) { b.attribution.memory.stages[0].bytes = 20'000'000; }},
  };
}

}  // namespace stallscope::test
