// An imported run survives being written as .sst.
#include <doctest/doctest.h>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/file.h"
#include "analyzer/importers/foreign/run_builder.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/model/loader.h"
#include "analyzer/model/saver.h"
#include "tests/analyzer/importers/facts.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"

using namespace stallscope;

namespace {

void CheckSame(const model::Run& a, const model::Run& b) {
  CHECK(a.rows.steps == b.rows.steps);
  CHECK(a.rows.copies == b.rows.copies);
  CHECK(a.rows.kernels.size() == b.rows.kernels.size());
  CHECK(a.stages == b.stages);
  CHECK(a.info.imported_from == b.info.imported_from);
  CHECK(a.info.limits == b.info.limits);
  CHECK(a.info.start_ns == b.info.start_ns);
  CHECK(a.info.end_ns == b.info.end_ns);
  REQUIRE(a.tracks.size() == b.tracks.size());
  for (size_t t = 0; t < a.tracks.size(); ++t) {
    CHECK(a.tracks[t].info == b.tracks[t].info);
    const auto& left = a.tracks[t].spans;
    const auto& right = b.tracks[t].spans;
    REQUIRE(left.size() == right.size());
    bool same = true;
    for (size_t i = 0; i < left.size(); ++i) {
      const auto& x = a.ClassOf(a.tracks[t], i);
      const auto& y = b.ClassOf(b.tracks[t], i);
      same = same && left.start_ns[i] == right.start_ns[i] && left.EndNs(i) == right.EndNs(i) &&
             x.kind == y.kind && x.stage == y.stage && x.activity == y.activity &&
             a.Text(x.name) == b.Text(y.name);
    }
    CHECK(same);
  }
  const auto first = attribution::Attribute(a);
  const auto second = attribution::Attribute(b);
  for (size_t c = 0; c < attribution::kCategories; ++c) {
    REQUIRE(first.breakdown[c].has_value() == second.breakdown[c].has_value());
    if (first.breakdown[c]) CHECK(first.breakdown[c]->ns == second.breakdown[c]->ns);
  }
  CHECK(first.limits == second.limits);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("our own samples are the same after another import") {
    const test::ScratchDir dir;
    const auto run = model::LoadTrace(test::SourceDir() + "/sample_traces/input_order.sst");
    REQUIRE(run.ok());
    REQUIRE(model::SaveTrace(run.value(), dir / "a.sst").ok());
    const auto again = model::LoadTrace(dir / "a.sst");
    REQUIRE(again.ok());
    CheckSame(run.value(), again.value());
    CHECK(again.value().quality.Complete());
    CHECK(again.value().rows.queue_events == run.value().rows.queue_events);
  }

  TEST_CASE("a pipeline that AUTOTUNE drives is the same once written") {
    const test::ScratchDir dir;
    const auto run =
        importers::OpenRun(test::SourceDir() + "/sample_traces/tf_images_tuned.xplane.pb.gz");
    REQUIRE(run.ok());
    REQUIRE(model::SaveTrace(run.value(), dir / "a.sst").ok());
    const auto again = model::LoadTrace(dir / "a.sst");
    REQUIRE(again.ok());
    CheckSame(run.value(), again.value());
    size_t tuned = 0;
    for (const trace::StageInfo& stage : again.value().stages) tuned += stage.tuned ? 1 : 0;
    CHECK(tuned == 2);  // the map and the prefetch
  }

  TEST_CASE("a run that ends at time 0 or is empty is complete once written") {
    for (const bool empty : {true, false}) {
      importers::RunBuilder builder("a.json", "test");
      const TrackId track = builder.ThreadTrack("", 0);
      const uint16_t detail = builder.Detail(trace::SpanActivity::kNone, {});
      if (!empty) builder.AddSpan(track, detail, -10, 0);
      const test::ScratchDir dir;
      REQUIRE(model::SaveTrace(builder.Finish({}), dir / "a.sst").ok());
      const auto again = model::LoadTrace(dir / "a.sst");
      REQUIRE(again.ok());
      CHECK(again.value().quality.Complete());
      CHECK(again.value().quality.warnings.empty());
    }
  }

  TEST_CASE("real traces are the same as .sst") {
    for (const char* folder : {"kineto", "chrome", "tf_trace"}) {
      const auto traces = test::RealTraces(folder);
      if (!traces) return test::Skip("STALLSCOPE_CORPUS is not set");
      const test::ScratchDir dir;
      for (const test::RealTrace& real : *traces) {
        const std::string& path = real.path;
        CAPTURE(path);
        const auto run = importers::OpenRun(path);
        REQUIRE(run.ok());
        REQUIRE(model::SaveTrace(run.value(), dir / "a.sst").ok());
        const auto again = importers::OpenRun(dir / "a.sst");
        REQUIRE(again.ok());
        CHECK(again.value().format == "sst");
        CheckSame(run.value(), again.value());
      }
    }
  }

  TEST_CASE("an import of an incomplete file is incomplete, too") {
    for (const bool whole : {true, false}) {
      const test::ScratchDir dir;
      const std::string path = dir / "a.json";
      REQUIRE(WriteFileAtomically(path, std::string(R"([{"ph":"X","ts":1,"dur":1})") +
                                            (whole ? "]" : R"(,{"ph":"X","dur":1}])"))
                  .ok());
      const auto read = importers::OpenRun(path);
      REQUIRE(read.ok());
      CHECK(read.value().quality.Complete() == whole);
      REQUIRE(model::SaveTrace(read.value(), dir / "a.sst").ok());
      const auto again = model::LoadTrace(dir / "a.sst");
      REQUIRE(again.ok());
      CHECK(again.value().quality.Complete() == whole);
    }
  }
}
