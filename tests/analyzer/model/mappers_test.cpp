// Which call of ParallelMapper the settings of a chain of torchdata's nodes are those of.
#include "analyzer/model/mappers.h"

#include <doctest/doctest.h>

#include "analyzer/model/job_spec.h"
#include "tests/support/loaded_run.h"

using namespace stallscope;

namespace {

constexpr const char* kTwo = R"({"workers": 2, "mappers": [
    {"at": "train.py:9", "functions": ["train.py:3"], "workers": 0, "method": "thread"},
    {"at": "data.py:8", "functions": ["data.py:4"], "workers": 2, "method": "process",
     "max_concurrent": 2}]})";

// Of a loop whose ops are read() and, inside of it, decode().
model::Run RunWith(const char* settings, int64_t read_ns, int64_t decode_ns) {
  test::TraceBuilder trace;
  trace.run.job.command = {"python", "train.py"};
  trace.loader =
      trace.Loader({.kind = "torchdata.nodes.loader.LoaderIterator", .settings_json = settings});
  const StageId fetch = trace.Stage("fetch", "map");
  const StageId trainer = trace.Stage("trainer", "trainer", 1, {fetch});
  const TrackId main = trace.Thread("main", trainer, trace.Process("train.py", 700));
  trace.Op("read", "/u/train.py", 3);
  trace.Op("decode", "/u/data.py", 4);
  trace.OpWork(main, fetch, trace.Text("decode"), 2'000, 2'000 + decode_ns);
  trace.OpWork(main, fetch, trace.Text("read"), 2'000 + decode_ns, 2'000 + decode_ns + read_ns);
  trace.Work(main, fetch, 2'000, 90'000, ItemId{0});
  trace.Seal(100'000);
  return LoadedRun(trace);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("of two mappers, the settings are those of the slower one") {
    const model::Run decodes = RunWith(kTwo, 1'000, 5'000);
    const trace::LoaderInfo& info = decodes.loaders[0].info;
    CHECK_FALSE(model::IsDataLoader(info));
    const LoaderSpec spec = model::LoaderSpecOf(info);
    CHECK(spec.knobs == std::vector<std::string>{"num_workers", "threads"});
    CHECK(spec.num_workers == 2);
    CHECK(spec.threads == 0);
    CHECK(model::CallPlaceOf(info, "threads") == "data.py:8");
    CHECK(model::CallPlaceOf(info, "num_workers") == "data.py:8");
    const auto mapper = model::MapperOf(info);
    REQUIRE(mapper.has_value());
    CHECK(mapper->processes);
    CHECK(mapper->max_concurrent == 2);
    CHECK(model::Calls(*mapper, "/elsewhere/data.py", 4));
    CHECK_FALSE(model::Calls(*mapper, "/u/data.py", 5));

    const trace::LoaderInfo reads = RunWith(kTwo, 5'000, 1'000).loaders[0].info;
    CHECK(model::CallPlaceOf(reads, "threads") == "train.py:9");
    CHECK(model::LoaderSpecOf(reads).num_workers == 0);
    CHECK_FALSE(model::MapperOf(reads)->max_concurrent.has_value());
  }

  TEST_CASE("mappers whose functions were not recorded have no settings, but a single one has") {
    const char* const others = R"({"mappers": [
        {"at": "train.py:9", "functions": ["other.py:3"], "workers": 0, "method": "thread"},
        {"at": "train.py:8", "functions": [], "workers": 3, "method": "thread"}]})";
    const trace::LoaderInfo none = RunWith(others, 1'000, 1'000).loaders[0].info;
    CHECK(model::HasMappers(none));
    CHECK_FALSE(model::MapperOf(none).has_value());
    CHECK(model::LoaderSpecOf(none).knobs.empty());
    const char* const one = R"({"mappers": [
        {"at": "train.py:8", "functions": [], "workers": 3, "method": "thread"}]})";
    const trace::LoaderInfo single = RunWith(one, 1'000, 1'000).loaders[0].info;
    CHECK(model::LoaderSpecOf(single).threads == 3);
    CHECK(model::CallPlaceOf(single, "threads") == "train.py:8");
  }

  TEST_CASE("mappers that make no sense have no settings") {
    for (const char* text : {"{}", R"({"mappers": 3})", R"({"mappers": []})",
                             R"({"mappers": [1, null]})", R"({"mapper": 1})", R"(["mapper"])"}) {
      CAPTURE(text);
      CHECK_FALSE(model::MapperOf(RunWith(text, 1'000, 1'000).loaders[0].info).has_value());
    }
    const char* const odd = R"({"mappers": [{"at": 7, "functions": [3], "workers": "x",
        "method": 1, "max_concurrent": "y"}]})";
    const trace::LoaderInfo info = RunWith(odd, 1'000, 1'000).loaders[0].info;
    CHECK(model::LoaderSpecOf(info).threads == 0);
    CHECK(model::CallPlaceOf(info, "threads").empty());
    CHECK(model::MapperOf(info)->functions.empty());
  }
}
