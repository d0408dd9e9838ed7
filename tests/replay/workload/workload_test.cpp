#include "replay/workload/workload.h"

#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "analyzer/spec/spec_json.h"

using stallscope::CacheSpec;
using stallscope::MapSpec;
using stallscope::PrefetchSpec;
using stallscope::ReadSpec;
using stallscope::replay::BatchSize;
using stallscope::replay::HeldBytes;
using stallscope::replay::ItemBytes;
using stallscope::replay::Recorded;
using stallscope::replay::Workload;

namespace {

Workload Images() {
  auto recorded = std::make_shared<Recorded>();
  auto spec = ReadSpec(R"json({"name": "images", "stages": [
    {"name": "read", "source": {"format": "tfrecord", "files": ["x"]}},
    {"name": "decode", "map": {"ops": ["decode_jpeg"]}},
    {"name": "cache", "cache": {"where": "disk"}},
    {"name": "batch", "batch": {"size": 10}},
    {"name": "prefetch", "prefetch": {"buffer_size": 2}}],
    "trainer": {"device": "emulated"}})json",
                       "spec");
  REQUIRE(spec.ok());
  recorded->spec = std::move(spec).value();
  recorded->stages["read"].bytes = 1000;
  recorded->trainer.host_sample_bytes = 50'000;
  recorded->elements_per_epoch = 600;
  recorded->steps = 42;
  Workload workload;
  workload.spec = recorded->spec;
  workload.recorded = std::move(recorded);
  return workload;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("an element is what was read until it is decoded, then what the batch has of it") {
    const Workload workload = Images();
    const auto graph = stallscope::plan::Lower(workload.spec);
    REQUIRE(graph.ok());
    CHECK(ItemBytes(workload, graph.value(), 0) == 1000);
    CHECK(ItemBytes(workload, graph.value(), 1) == 50'000);
    CHECK(ItemBytes(workload, graph.value(), 4) == 50'000);
  }

  TEST_CASE("buffers, caches and workers hold memory") {
    Workload workload = Images();
    const uint64_t before = HeldBytes(workload);
    std::get<PrefetchSpec>(workload.spec.stages[4].kind).buffer_size.value = 4;
    CHECK(HeldBytes(workload) - before == 2 * 10 * 50'000);
    std::get<CacheSpec>(workload.spec.stages[2].kind).where = stallscope::CacheWhere::kMemory;
    CHECK(HeldBytes(workload) - before == 2 * 10 * 50'000 + 600 * 50'000);
    const uint64_t one = HeldBytes(workload);
    std::get<MapSpec>(workload.spec.stages[1].kind).parallelism.value = 4;
    CHECK(HeldBytes(workload) > one + 4 * 2 * 50'000);
  }

  TEST_CASE("a run has as many steps as its spec says, or as were recorded") {
    Workload workload = Images();
    CHECK(workload.steps() == 100);
    workload.spec.trainer.steps = 0;
    CHECK(workload.steps() == 42);
    CHECK(BatchSize(workload.spec) == 10);
  }
}
