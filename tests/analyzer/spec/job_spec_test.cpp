// The settings of a user's own job, as a spec has them.
#include <doctest/doctest.h>

#include "analyzer/spec/job_knobs.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/spec/validate.h"

using namespace stallscope;

namespace {

Spec JobSpecOfTest() {
  Spec spec;
  spec.name = "train.py";
  spec.stages = {{"loader", LoaderSpec{.num_workers = 2, .batch_size = 16}},
                 {"loader2", LoaderSpec{.iterable = true}}};
  return spec;
}

std::string ErrorOf(const std::string& setting) {
  const auto set = ApplySettings(JobSpecOfTest(), {setting});
  return set.ok() ? "" : set.error().Line();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE(
      "a job has the settings of its loaders, its threads and its environment, and no others") {
    CHECK(IsJob(JobSpecOfTest()));
    CHECK(Validate(JobSpecOfTest()).ok());
    for (const char* good :
         {"loader.num_workers=4", "loader2.pin_memory=true", "job.threads=1", "job.steps=10",
          "loader.multiprocessing_context=spawn", "env.OMP_NUM_THREADS=1", "env.X="}) {
      CAPTURE(good);
      CHECK(ErrorOf(good) == "");
    }
    for (const char* bad :
         {"loader3.num_workers=4", "trainer.steps=1", "transfer.pinned=true", "seed=3",
          "loader.iterable=true", "loader.num_workers=-1", "env.PYTHONPATH=/x", "env.1=2", "env.=1",
          "env.STALLSCOPE_SESSION=x", "loader.multiprocessing_context=thread"}) {
      CAPTURE(bad);
      CHECK(ErrorOf(bad) != "");
    }
    CHECK(ErrorOf("loader.num_worker=4").find("'loader.num_workers'") != std::string::npos);
    std::vector<std::string> paths;
    for (const KnobInfo& knob : ListKnobs(JobSpecOfTest())) paths.push_back(knob.path);
    CHECK(paths.size() == 1 + 2 * 7 + 2);
    CHECK(paths.back() == "job.threads");
  }

  TEST_CASE("a loader of another library has the settings that were recorded, and no others") {
    Spec spec;
    spec.stages = {{"loader", LoaderSpec{.prefetch = 2, .knobs = {"prefetch", "threads"}}}};
    std::vector<std::string> paths;
    for (const KnobInfo& knob : ListKnobs(spec)) {
      if (knob.path.starts_with("loader.")) paths.push_back(knob.path);
    }
    CHECK(paths == std::vector<std::string>{"loader.prefetch", "loader.threads"});
    const auto set = ApplySettings(spec, {"loader.prefetch=4"});
    REQUIRE(set.ok());
    CHECK(WritePatch(Diff(spec, set.value()), JsonLayout::kOneLine)
              .find(R"("path":"loader.prefetch","value":4)") != std::string::npos);
    CHECK(ReadAnySpec(WriteSpec(set.value()), "test").value() == set.value());
    for (const char* bad : {"loader.num_workers=2", "loader.num_shards=2", "loader.prefetch=-1",
                            "loader.prefetch=x", "loader.knobs=[]"}) {
      CAPTURE(bad);
      CHECK_FALSE(ApplySettings(spec, {bad}).ok());
    }
    for (const std::string_view knob : kOtherLoaderKnobs) {
      CHECK(ErrorOf("loader." + std::string(knob) + "=2") != "");  // a DataLoader
    }
    CHECK(IsProgramsChoice("loader.prefetch", "0"));
  }

  TEST_CASE("what a program decides on itself is no value to set") {
    for (const char* path : {"job.threads", "loader.batch_size"}) {
      CHECK(IsProgramsChoice(path, "0"));
      CHECK_FALSE(IsProgramsChoice(path, "1"));
    }
    CHECK(IsProgramsChoice("loader.multiprocessing_context", "inherited"));
    CHECK_FALSE(IsProgramsChoice("loader2.num_workers", "0"));
    CHECK_FALSE(IsProgramsChoice("env.A", "0"));
    CHECK_FALSE(IsProgramsChoice("env.A", "inherited"));
  }

  TEST_CASE("a change of a job is a patch like any other") {
    const Spec spec = JobSpecOfTest();
    const auto changed =
        ApplySettings(spec, {"loader.num_workers=4", "env.B=2", "env.A=1", "job.threads=1"});
    REQUIRE(changed.ok());
    const Patch patch = Diff(spec, changed.value());
    CHECK(WritePatch(patch, JsonLayout::kOneLine)
              .find(R"({"op":"set","path":"env.A","value":"1"})") != std::string::npos);
    CHECK(patch.changes.size() == 4);
    CHECK(Apply(spec, patch).value() == changed.value());
    CHECK(GetKnob(changed.value(), "env.B").value() == "2");
    CHECK(GetKnob(spec, "env.B").value().empty());
  }

  TEST_CASE("a job's settings survive their text, and are no pipeline") {
    const auto changed = ApplySettings(JobSpecOfTest(), {"env.B=2", "job.steps=9"});
    REQUIRE(changed.ok());
    const std::string text = WriteSpec(changed.value());
    CHECK(ReadAnySpec(text, "test").value() == changed.value());
    const auto refused = ReadSpec(text, "test");
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().Line().find("stallscope run") != std::string::npos);
  }

  TEST_CASE("a job cannot become a pipeline, nor a pipeline a job") {
    const auto pipeline =
        ReadSpec(R"({"stages": [{"name": "read", "source": {"format": "synthetic"}}]})", "test");
    REQUIRE(pipeline.ok());
    Spec mixed = pipeline.value();
    mixed.stages.push_back({"loader", LoaderSpec{}});
    CHECK_FALSE(Validate(mixed).ok());
    const Patch to_job{{RemoveChange{"read"}, InsertChange{{"loader", LoaderSpec{}}, {}}}};
    CHECK_FALSE(Apply(pipeline.value(), to_job).ok());
    CHECK_FALSE(ApplySettings(pipeline.value(), {"env.A=1"}).ok());
    CHECK_FALSE(ApplySettings(pipeline.value(), {"job.threads=1"}).ok());
  }
}
