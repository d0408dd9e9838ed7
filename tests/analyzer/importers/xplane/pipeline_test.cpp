// What becomes of tf.data's iterators.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "analyzer/attribution/attribution.h"
#include "tests/analyzer/importers/xplane/read.h"
#include "tests/support/made_space.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::MadePlane;

namespace {

constexpr uint64_t kMs = 1'000'000'000;  // in picoseconds

std::string Iterator(MadePlane& host, const std::string& path, uint64_t id, uint64_t parent,
                     uint64_t offset, uint64_t duration, const std::string& more = "") {
  std::string stats = host.Number("id", id);
  if (parent != 0) stats += host.Number("parent_id", parent);
  return host.Event(path, offset, duration, stats + more);
}

StageId Find(const model::Run& run, const std::string& name) {
  for (const auto& stage : run.stages) {
    if (stage.name == name) return stage.id;
  }
  return StageId::None();
}

// Three steps of 10 ms; each fetches for 6 ms, of which the map takes 5 and its source 1.
std::string SerialLoop(MadePlane& host) {
  std::string events;
  for (uint64_t step = 0; step < 3; ++step) {
    const uint64_t at = step * 10 * kMs;
    events += host.Event("train", at, 9 * kMs, host.Number("step_num", 40 + step));
    events += host.Event("IteratorGetNextOp::DoCompute", at + kMs, 6 * kMs);
    events += Iterator(host, "Iterator::Root", 1, 0, at + kMs, 6 * kMs);
    // Of another epoch each time.
    const std::string epoch = "[" + std::to_string(step) + "]";
    events += Iterator(host, "Iterator::Root::Repeat" + epoch + "::Map", 10 + step, 1, at + 2 * kMs,
                       5 * kMs, host.Reference("shapes", "[16,8,8,3]"));
    events += Iterator(host, "Iterator::Root::Repeat" + epoch + "::Map::TFRecord", 20 + step,
                       10 + step, at + 3 * kMs, kMs);
  }
  return events;
}

// Three steps that wait for a map of which two threads of a pool run a call each.
void ParallelLoop(MadePlane& host, const std::string& settings) {
  std::string trainer;
  std::string runner;
  std::string pool[2];
  for (uint64_t step = 0; step < 3; ++step) {
    const uint64_t at = step * 10 * kMs;
    trainer += host.Event("train", at, 9 * kMs, host.Number("step_num", step));
    trainer += host.Event("IteratorGetNextOp::DoCompute", at, 6 * kMs);
    trainer += Iterator(host, "Iterator::Root", 1, 0, at, 6 * kMs);
    trainer += Iterator(host, "Iterator::Root::ParallelMapV2", 2, 1, at, 6 * kMs, settings);
    trainer += host.Event("ParallelMapConsume", at + 6 * kMs - 1'000, 1'000);
    for (uint64_t worker = 0; worker < 2; ++worker) {
      const uint64_t run = 100 + 2 * step + worker;
      const uint64_t begin = at + worker * kMs / 2;
      runner += host.Event("ParallelMapProduce", begin, kMs / 2);
      runner += Iterator(host, "Iterator::Root::ParallelMapV2::TFRecord", 3, 2, begin, kMs / 4);
      runner += host.Event("FunctionRun", begin + kMs / 4, kMs / 8, host.Number("_p", run));
      // Two pieces of one run, as the pool's threads leave them.
      pool[worker] +=
          host.Event("ExecutorState::Process", begin + kMs / 2, kMs / 100, host.Number("_c", run));
      pool[worker] += host.Event("ExecutorState::Process", begin + kMs / 2 + kMs / 50, 5 * kMs,
                                 host.Number("_c", run));
    }
  }
  host.Line(1, "python", 0, trainer);
  host.Line(2, "tf_data_iterator_resource", 0, runner);
  host.Line(3, "tf_data_private_threadpool", 0, pool[0]);
  host.Line(4, "tf_data_private_threadpool", 0, pool[1]);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("iterators that call each other are stages with their self time") {
    MadePlane host("/host:CPU");
    host.Line(1, "python", 0, SerialLoop(host));
    const auto read = test::ReadSpace(host.Bytes());
    REQUIRE(read.ok());
    const model::Run& run = read.value();
    REQUIRE(run.rows.steps.size() == 3);
    CHECK(run.rows.steps[0].index == 40);
    CHECK(run.rows.steps[1].requested_ns == 10'000'000);
    CHECK(run.rows.steps[0].samples == 16);
    const StageId map = Find(run, "Map");
    const StageId source = Find(run, "TFRecord");
    REQUIRE(map.known());
    REQUIRE(source.known());
    CHECK(run.stages[map.value].inputs == std::vector<StageId>{source});
    CHECK(run.stages[Find(run, "trainer").value].inputs == std::vector<StageId>{map});

    const attribution::Attribution a = attribution::Attribute(run);
    CHECK(a.breakdown[attribution::At(attribution::Category::kInputStall)]->ns == 18'000'000);
    std::map<StageId, int64_t> blamed;
    for (const auto& blame : a.blame) blamed[blame.stage] += blame.ns;
    CHECK(blamed[map] == 15'000'000);
    CHECK(blamed[source] == 3'000'000);
    CHECK(a.stages[map.value].elements == 3);
    CHECK(a.stages[map.value].service_ns.mean == doctest::Approx(5e6));
  }

  TEST_CASE("children that work in parallel are not taken from their caller's time") {
    MadePlane host("/host:CPU");
    ParallelLoop(host, host.Number("parallelism", 2));
    const auto read = test::ReadSpace(host.Bytes());
    REQUIRE(read.ok());
    const model::Run& run = read.value();
    const StageId map = Find(run, "ParallelMapV2");
    REQUIRE(map.known());
    CHECK(run.stages[map.value].workers == 2);
    CHECK(run.stages[map.value].queue.known());
    const attribution::Attribution a = attribution::Attribute(run);
    // Six runs of 5.02 ms; waiting for them is no work of whoever waits.
    CHECK(a.stages[map.value].elements == 6);
    CHECK(a.stages[map.value].busy_ns == 6 * 5'020'000);
    CHECK(!Find(run, "Root").known());
    CHECK(a.blame.front().stage == map);
  }

  TEST_CASE(
      "a map has as many workers as it is allowed, or if it is tuned, as its pool has threads") {
    const auto workers = [](const char* tuned) {
      MadePlane host("/host:CPU");
      ParallelLoop(host, host.Number("parallelism", 65) + host.Text("autotune", tuned));
      const auto read = test::ReadSpace(host.Bytes());
      REQUIRE(read.ok());
      return read.value().stages[Find(read.value(), "ParallelMapV2").value].workers;
    };
    CHECK(workers("true") == 2);
    CHECK(workers("false") == 65);
  }

  TEST_CASE("a prefetch's thread works for it, and its caller waits") {
    MadePlane host("/host:CPU");
    std::string trainer;
    std::string ahead;
    for (uint64_t step = 0; step < 3; ++step) {
      const uint64_t at = step * 10 * kMs;
      trainer += host.Event("train", at, 9 * kMs, host.Number("step_num", step));
      trainer += host.Event("IteratorGetNextOp::DoCompute", at, 2 * kMs);
      trainer +=
          Iterator(host, "Iterator::Prefetch", 1, 0, at, 2 * kMs, host.Number("buffer_limit", 4));
      trainer += host.Event("PrefetchConsume", at + 2 * kMs - 1'000, 1'000);
      ahead += host.Event("PrefetchProduce", at, 2 * kMs);
      ahead += Iterator(host, "Iterator::Prefetch::Generator", 2, 1, at, 2 * kMs);
    }
    host.Line(1, "python", 0, trainer);
    host.Line(2, "tf_data_iterator_resource", 0, ahead);
    const auto read = test::ReadSpace(host.Bytes());
    REQUIRE(read.ok());
    const model::Run& run = read.value();
    const StageId prefetch = Find(run, "Prefetch");
    REQUIRE(run.stages[prefetch.value].queue.known());
    CHECK(run.queues[run.stages[prefetch.value].queue.value].info.capacity == 4);
    const attribution::Attribution a = attribution::Attribute(run);
    CHECK(a.blame.front().stage == Find(run, "Generator"));
    CHECK(a.stages[Find(run, "Generator").value].elements == 3);
    CHECK(a.stages[prefetch.value].busy_ns == 0);
  }

  TEST_CASE("a stage keeps what its iterator says of itself") {
    MadePlane host("/host:CPU");
    host.Line(
        1, "python", 0,
        Iterator(host, "Iterator::Root::BatchV2", 1, 0, 0, kMs,
                 host.Reference("shapes", "[?,8,8,3] [?]") +
                     host.Reference("types", "float int64") + host.Number("batch_size", 16) +
                     host.Text("drop_remainder", "false")) +
            Iterator(host, "Iterator::Root::BatchV2::Shard", 2, 1, 0, kMs / 2,
                     host.Number("num_shards", 4)) +
            Iterator(host, "Iterator::Root::BatchV2::Shard::ParallelInterleaveV4", 3, 2, 0, kMs / 4,
                     host.Number("cycle_length", 2) + host.Number("block_length", 16) +
                         host.Text("types", std::string(10'000, 'x'))));
    const auto read = test::ReadSpace(host.Bytes());
    REQUIRE(read.ok());
    const model::Run& run = read.value();
    using Settings = std::map<std::string, std::string>;
    CHECK(run.stages[Find(run, "BatchV2").value].settings == Settings{{"shapes", "[?,8,8,3] [?]"},
                                                                      {"types", "float int64"},
                                                                      {"batch_size", "16"},
                                                                      {"drop_remainder", "false"}});
    CHECK(run.stages[Find(run, "Shard").value].settings == Settings{{"num_shards", "4"}});
    const Settings& source = run.stages[Find(run, "ParallelInterleaveV4").value].settings;
    CHECK(source.at("cycle_length") == "2");
    CHECK(source.at("block_length") == "16");
    CHECK(source.at("types").size() == 512);
  }

  TEST_CASE("events that only look like iterators are ignored") {
    MadePlane host("/host:CPU");
    host.Line(1, "python", 0,
              host.Event("MakeIterator::MapDataset", 0, kMs) + host.Event("IteratorGetNext", 0, 5) +
                  host.Event("Produce", 0, 5));
    const auto run = test::ReadSpace(host.Bytes());
    REQUIRE(run.ok());
    CHECK(run.value().stages.size() == 1);  // the trainer
  }
}
