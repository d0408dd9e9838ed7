// Processes and loaders of a job, as the chunks of its trace define them.
#include <doctest/doctest.h>

#include "tests/support/loaded_run.h"

#include "analyzer/model/assembler.h"

using namespace stallscope;

namespace {

trace::Step StepOf(uint64_t index, uint64_t loader) {
  trace::Step step;
  step.index = index;
  step.batch = ItemId{loader << 48 | index};
  return step;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the loader that fed most steps is called loader; others' stages have its name") {
    trace::Chunk chunk;
    chunk.definitions.loaders = {{.id = LoaderId{0}, .kind = "validation"},
                                 {.id = LoaderId{1}, .kind = "training"}};
    chunk.definitions.stages = {{.id = StageId{0}, .name = "fetch", .loader = LoaderId{0}},
                                {.id = StageId{1}, .name = "fetch", .loader = LoaderId{1}},
                                {.id = StageId{2}, .name = "trainer"}};
    chunk.rows.steps = {StepOf(0, 1), StepOf(1, 1), StepOf(2, 0)};
    model::Assembler assembler;
    REQUIRE(assembler.Add(std::move(chunk)));
    const model::Run run = assembler.Finish();
    CHECK(run.loaders[0].name == "loader2");
    CHECK(run.loaders[1].name == "loader");
    CHECK(run.loaders[1].steps == 2);
    CHECK(run.stages[0].name == "loader2.fetch");
    CHECK(run.stages[1].name == "fetch");
    CHECK(run.stages[2].name == "trainer");
  }

  TEST_CASE("a step that takes batches of two loaders is fed by both") {
    trace::Chunk chunk;
    chunk.definitions.run.emplace().job.command = {"python", "train.py"};
    chunk.definitions.loaders = {{.id = LoaderId{0}}, {.id = LoaderId{1}}, {.id = LoaderId{2}}};
    chunk.definitions.stages = {{.id = StageId{0}, .name = "trainer", .kind = "trainer"},
                                {.id = StageId{1}, .name = "fetch", .loader = LoaderId{0}}};
    chunk.rows.steps = {StepOf(0, 1), StepOf(1, 1)};
    chunk.rows.lineage = {{StepOf(0, 0).batch, StepOf(0, 1).batch, StageId{0}},
                          {StepOf(1, 0).batch, StepOf(1, 1).batch, StageId{0}},
                          {StepOf(0, 2).batch, StepOf(0, 1).batch, StageId{1}}};
    model::Assembler assembler;
    REQUIRE(assembler.Add(std::move(chunk)));
    const model::Run run = assembler.Finish();
    CHECK(run.loaders[0].steps == 2);
    CHECK(run.loaders[1].steps == 2);
    CHECK(run.loaders[2].steps == 0);
    CHECK(run.loaders[0].name == "loader");
  }

  TEST_CASE("spans that were written late are sorted by their ends") {
    constexpr int64_t kLong = 5'000'000'000;  // too long for the column
    test::TraceBuilder trace;
    trace.run.job.command = {"python", "train.py"};
    const ProcessId process = trace.Process("train.py", 700);
    const StageId fetch = trace.Stage("fetch", "map");
    const StageId trainer = trace.Stage("trainer", "trainer", 1, {fetch});
    const TrackId main = trace.Thread("main", trainer, process);
    trace.Work(main, fetch, 0, 10, ItemId{0});
    trace.Work(main, fetch, 20, kLong, ItemId{1});
    trace.Work(main, trainer, 10, 20, ItemId{0});
    trace.Work(main, trainer, kLong, kLong + 5, ItemId{1});
    trace.Seal(kLong + 10);
    const model::Run run = LoadedRun(trace);
    const trace::SpanColumns& spans = run.tracks[main.value].spans;
    REQUIRE(spans.size() == 4);
    std::vector<int64_t> ends;
    for (size_t i = 0; i < spans.size(); ++i) ends.push_back(spans.EndNs(i));
    CHECK(ends == std::vector<int64_t>{10, 20, kLong, kLong + 5});
    CHECK(spans.DurationNs(2) == kLong - 20);
    CHECK(spans.item[1] == 0);
    CHECK(spans.item[2] == 1);
    CHECK(run.ClassOf(run.tracks[main.value], 1).stage == trainer);
  }

  TEST_CASE("later definitions of a process and a loader add to the earlier ones") {
    model::Assembler assembler;
    trace::Chunk first;
    first.definitions.processes = {{.id = ProcessId{1}, .name = "worker 0", .pid = 7}};
    first.definitions.tracks = {{.id = TrackId{0}, .name = "main", .process = ProcessId{1}},
                                {.id = TrackId{1}, .name = "x", .process = ProcessId{99'999}}};
    first.definitions.ops = {{"Resize", "/a.py", 3}};
    first.definitions.code_lines = {{"/a.py", 3, {{4, 40, 1}}}, {"/a.py", 9, {{9, 1, 1}}}};
    REQUIRE(assembler.Add(std::move(first)));
    trace::Chunk second;
    second.definitions.processes = {{.id = ProcessId{1}, .end_ns = 90}};
    second.definitions.ops = {{"Resize", "/b.py", 4}};
    second.definitions.code_lines = {{"/a.py", 3, {{4, 90, 2}, {5, 10, 2}}}};
    REQUIRE(assembler.Add(std::move(second)));
    const model::Run run = assembler.Finish();
    REQUIRE(run.processes.size() == 2);
    CHECK(run.processes[0].name == "process 0");
    CHECK(run.processes[1].name == "worker 0");
    CHECK(run.processes[1].pid == 7);
    CHECK(run.processes[1].end_ns == 90);
    CHECK(run.tracks[0].info.process == ProcessId{1});
    CHECK_FALSE(run.tracks[1].info.process.known());  // past the limit
    CHECK(run.quality.left_out == 1);
    CHECK(run.ops == std::vector<trace::OpInfo>{{"Resize", "/a.py", 3}});
    REQUIRE(run.code_lines.size() == 2);  // of one function, the later counts
    REQUIRE(run.LinesOf("/a.py", 3) != nullptr);
    CHECK(run.LinesOf("/a.py", 3)->lines ==
          std::vector<trace::CodeLines::Line>{{4, 90, 2}, {5, 10, 2}});
    CHECK(run.LinesOf("/a.py", 4) == nullptr);
    CHECK(run.LinesOf("/b.py", 3) == nullptr);
  }
}
