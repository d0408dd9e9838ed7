// A trace follows every element from its file to the batch that it went into.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/support/paths.h"

using namespace stallscope;
using test::Delivered;
using test::MakeData;
using test::RunStages;
using test::ScratchDir;

namespace {

struct Recorded {
  Delivered run;
  test::RecordedTrace trace;
  std::map<std::string, uint32_t> stages;

  // Work spans of a stage by the item that they are about.
  std::map<uint64_t, size_t> WorkOf(const std::string& stage) const {
    std::map<uint64_t, size_t> items;
    for (const auto& [track, spans] : trace.spans) {
      for (const auto& span : spans) {
        if (span.span_class.kind == trace::SpanKind::kWork &&
            span.span_class.stage.value == stages.at(stage)) {
          ++items[span.item.value];
        }
      }
    }
    return items;
  }
};

Recorded Record(const std::string& path, const std::string& stages, const std::string& more = "",
                int64_t batches = 1'000'000) {
  auto recorder = recorder::Recorder::Start(path, {});
  REQUIRE(recorder.ok());
  Recorded recorded;
  {
    const recorder::ThreadScope scope(recorder.value().get(), "trainer");
    recorded.run = RunStages(stages, more, batches, recorder.value().get());
  }
  recorder.value()->Stop();
  recorded.trace = test::ReadTrace(path);
  for (const trace::Chunk& chunk : recorded.trace.chunks) {
    for (const trace::StageInfo& stage : chunk.definitions.stages) {
      recorded.stages[stage.name] = stage.id.value;
    }
  }
  return recorded;
}

std::string Stages(const std::string& glob) {
  return R"({"name": "read", "source": {"format": "tfrecord", "files": [")" + glob +
         R"~("], "cycle_length": 2, "parallelism": 2}},
            {"name": "shuffle", "shuffle": {"buffer_size": 5}},
            {"name": "decode", "map": {"ops": ["decode_jpeg", "resize(8)"], "parallelism": 2}},
            {"name": "flip", "map": {"ops": ["flip"], "parallelism": 2}},
            {"name": "batch", "batch": {"size": 6}}, {"name": "ready", "prefetch": {"buffer_size": 2}})~";
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("file, record, work, queues, lineage and batch of every element are in the trace") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const Recorded recorded = Record(dir / "r.sst", Stages(glob));
    REQUIRE(!recorded.run.error.has_value());
    const trace::EventRows& rows = recorded.trace.rows;
    CHECK(rows.elements.size() == 24);
    CHECK(rows.batches.size() == 4);
    CHECK(rows.lineage.size() == 24);
    const auto read = recorded.WorkOf("read");
    const auto decoded = recorded.WorkOf("decode");
    const auto flipped = recorded.WorkOf("flip");
    std::set<uint64_t> batches;
    for (const trace::Batch& batch : rows.batches) batches.insert(batch.batch.value);
    std::map<uint64_t, uint64_t> batch_of;
    for (const trace::Lineage& link : rows.lineage) batch_of[link.in.value] = link.out.value;
    for (const trace::Element& element : rows.elements) {
      const uint64_t item = element.item.value;
      CHECK(recorded.trace.strings.at(element.file.value).find("/d/") != std::string::npos);
      CHECK(element.bytes > 100);
      CHECK(read.count(item) == 1);
      CHECK(decoded.count(item) == 1);
      CHECK(flipped.count(item) == 1);
      REQUIRE(batch_of.count(item) == 1);
      CHECK(batches.count(batch_of[item]) == 1);
    }
    // The last one to come is one of the batch's own.
    for (const trace::Batch& batch : rows.batches) {
      CHECK(batch_of[batch.last_arrival.value] == batch.batch.value);
      CHECK(batch.size == 6);
    }
    std::map<uint32_t, std::pair<int, int>> pushed_and_popped;
    for (const trace::QueueEvent& event : rows.queue_events) {
      auto& counts = pushed_and_popped[event.queue.value];
      ++(event.op == trace::QueueOp::kPush ? counts.first : counts.second);
    }
    CHECK(pushed_and_popped.size() == 5);  // read, shuffle, decode, flip, ready
    for (const auto& [queue, counts] : pushed_and_popped) CHECK(counts.first == counts.second);
    CHECK(recorded.trace.Dropped() == 0);
  }

  TEST_CASE("the trace has the number of a source's files, not only those that were read") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const Recorded recorded =
        Record(dir / "r.sst",
               R"({"name": "read", "source": {"format": "tfrecord", "files": [")" + glob +
                   R"("]}}, {"name": "batch", "batch": {"size": 1}})",
               "", 1);
    REQUIRE(!recorded.run.error.has_value());
    std::set<uint32_t> read;
    for (const trace::Element& element : recorded.trace.rows.elements) {
      read.insert(element.file.value);
    }
    CHECK(read.size() == 1);
    for (const trace::Chunk& chunk : recorded.trace.chunks) {
      for (const trace::StageInfo& stage : chunk.definitions.stages) {
        CHECK(stage.settings.size() == (stage.name == "read" ? 1 : 0));
        if (stage.name == "read") CHECK(stage.settings.at("files") == "3");
      }
    }
  }

  TEST_CASE("zipped sources stand side by side in the trace, and the bytes of both count") {
    ScratchDir dir;
    const Recorded recorded =
        Record(dir / "r.sst",
               R"~({"name": "a", "source": {"format": "synthetic", "elements": 3, "bytes": 10}},
                   {"name": "a2", "source": {"format": "synthetic", "elements": 1, "bytes": 10}},
                   {"name": "b", "source": {"format": "synthetic", "elements": 4, "bytes": 5,
                                            "join": "zip"}},
                   {"name": "tag", "map": {"ops": ["busy(0)"], "input": "b"}},
                   {"name": "keep", "cache": {}}, {"name": "batch", "batch": {"size": 4}})~");
    REQUIRE(!recorded.run.error.has_value());
    std::map<std::string, std::vector<std::string>> inputs;
    for (const trace::Chunk& chunk : recorded.trace.chunks) {
      for (const trace::StageInfo& stage : chunk.definitions.stages) {
        inputs[stage.name].clear();  // a later chunk may define it again
        for (const StageId input : stage.inputs) {
          for (const auto& [name, id] : recorded.stages) {
            if (id == input.value) inputs[stage.name].push_back(name);
          }
        }
      }
    }
    CHECK(inputs["a"].empty());
    CHECK(inputs["a2"] == std::vector<std::string>{"a"});
    CHECK(inputs["b"].empty());
    CHECK(inputs["tag"] == std::vector<std::string>{"a2", "b"});
    CHECK(inputs["keep"] == std::vector<std::string>{"tag"});
    const trace::EventRows& rows = recorded.trace.rows;
    CHECK(rows.elements.size() == 8);
    for (const trace::CacheEvent& event : rows.cache_events) CHECK(event.bytes == 15);
    // From each element of b to the pair, and from each pair to its batch.
    std::map<uint32_t, int> links;
    for (const trace::Lineage& link : rows.lineage) ++links[link.stage.value];
    CHECK(links[recorded.stages.at("b")] == 4);
    CHECK(links[recorded.stages.at("batch")] == 4);
    const auto read = recorded.WorkOf("a");
    for (const auto& [item, spans] : recorded.WorkOf("tag")) {
      CHECK((read.count(item) == 1 || recorded.WorkOf("a2").count(item) == 1));
    }
    uint64_t batch_bytes = 0;
    for (const auto& [track, spans] : recorded.trace.spans) {
      for (const auto& span : spans) {
        if (span.span_class.kind != trace::SpanKind::kWork) continue;
        if (span.span_class.stage.value == recorded.stages.at("batch")) batch_bytes += span.bytes;
      }
    }
    CHECK(batch_bytes == 60);
    REQUIRE(rows.batches.size() == 1);
    CHECK(recorded.trace.strings.at(rows.batches[0].shape.value) == "4x10, 4x5");
  }

  TEST_CASE("a fused map is recorded under the names of its parts") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord);
    const Recorded fused = Record(dir / "r.sst", Stages(glob),
                                  R"("rewrites": {"map_fusion": true, "map_and_batch": true})");
    REQUIRE(!fused.run.error.has_value());
    CHECK(fused.WorkOf("decode").size() == 24);
    CHECK(fused.WorkOf("flip").size() == 24);
    CHECK(fused.trace.rows.batches.size() == 4);
    // Which of its workers did something is chance.
    std::set<std::string> owners;
    for (const auto& [id, name] : fused.trace.track_names) {
      owners.insert(name.substr(0, name.find('/')));
    }
    CHECK(owners.count("batch") == 1);
    CHECK(owners.count("decode") == 0);
  }

  TEST_CASE("a cache records what it stored and what it returned") {
    ScratchDir dir;
    const Recorded recorded =
        Record(dir / "r.sst",
               R"({"name": "read", "source": {"format": "synthetic", "elements": 5, "bytes": 9}},
           {"name": "keep", "cache": {}}, {"name": "again", "repeat": {"count": 3}})");
    std::map<trace::CacheOp, int> counts;
    for (const trace::CacheEvent& event : recorded.trace.rows.cache_events) {
      ++counts[event.op];
      CHECK(event.bytes == 9);
      CHECK(event.epoch == (event.op == trace::CacheOp::kFill ? 0U : event.epoch));
    }
    CHECK(counts[trace::CacheOp::kFill] == 5);
    CHECK(counts[trace::CacheOp::kHit] == 10);
  }
}
