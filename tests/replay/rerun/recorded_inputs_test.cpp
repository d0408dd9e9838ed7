#include "replay/rerun/recorded_inputs.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "analyzer/spec/spec_json.h"
#include "collectors/capture/data_files.h"
#include "collectors/system/origin.h"
#include "tests/support/paths.h"

using namespace stallscope;

namespace {

Spec SpecOf(const std::string& files) {
  auto spec = ReadSpec(R"({"stages": [{"name": "read", "source": {"format": "raw", "files": [")" +
                           files + R"("]}}]})",
                       "test");
  REQUIRE(spec.ok());
  return std::move(spec).value();
}

replay::RerunPlan Planned(const model::Run& run, const Spec& spec) {
  return replay::PlanRerun(run, spec, "");
}

// As `record` leaves it.
model::Run RecordedIn(const std::string& folder) {
  model::Run run;
  run.info.folder = folder;
  run.info.spec_json = "{}";
  run.info.origin = system::OriginOf(run.info);
  return run;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("unchanged data passes; missing or changed data offers the emulation") {
    test::ScratchDir dir;
    std::ofstream(dir / "a.bin") << "as it was";
    const Spec spec = SpecOf(dir / "*.bin");
    const auto data = capture::FindDataFiles(spec);
    REQUIRE(data.ok());
    CHECK(data.value().paths.size() == 1);
    model::Run run;
    run.path = "run.sst";
    run.info.data_fingerprint = data.value().fingerprint;
    CHECK(replay::CheckData(run, Planned(run, spec)).ok());

    std::ofstream(dir / "a.bin") << "as it is not";
    const auto changed = replay::CheckData(run, Planned(run, spec));
    REQUIRE_FALSE(changed.ok());
    CHECK(changed.error().kind == ErrorKind::kInput);
    CHECK(changed.error().hint.find("--emulate") != std::string::npos);

    const auto missing = replay::CheckData(run, Planned(run, SpecOf(dir / "*.gone")));
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().kind == ErrorKind::kInput);
    CHECK(missing.error().what.find("*.gone") != std::string::npos);
    CHECK(missing.error().hint.find("--emulate") != std::string::npos);
  }

  TEST_CASE("a run without files always passes") {
    auto spec =
        ReadSpec(R"({"stages": [{"name": "read", "source": {"format": "synthetic"}}]})", "");
    REQUIRE(spec.ok());
    CHECK(replay::CheckData(model::Run(), Planned(model::Run(), spec.value())).ok());
  }

  TEST_CASE("this user's own recording needs no consent if it reads below its folder") {
    const model::Run run = RecordedIn("/home/user/run");
    for (const char* const inside : {"data/*.bin", "/home/user/run/data/a", "x/../data/a"}) {
      CAPTURE(inside);
      CHECK_FALSE(Planned(run, SpecOf(inside)).NeedsYes());
    }
    for (const char* const outside :
         {"/etc/*", "../other/*.bin", "data/../../x", "/home/user/running/a", "/home/user"}) {
      CAPTURE(outside);
      const auto plan = Planned(run, SpecOf(outside));
      CHECK(plan.NeedsYes());
      CHECK(plan.outside.size() == 1);
    }
    // Named by the user.
    CHECK_FALSE(replay::PlanRerun(run, SpecOf("/mnt/set/a.bin"), "/mnt/set/").NeedsYes());
    CHECK(replay::PlanRerun(run, SpecOf("*.bin"), "/mnt/set").reads.front() == "/mnt/set/*.bin");
  }

  TEST_CASE("a run from elsewhere, or a changed one, needs consent") {
    model::Run run = RecordedIn("/home/user/run");
    const Spec spec = SpecOf("data/a");
    REQUIRE_FALSE(Planned(run, spec).NeedsYes());
    SUBCASE("another spec") { run.info.spec_json = R"({"name": "x"})"; }
    SUBCASE("another folder") { run.info.folder = "/"; }
    SUBCASE("another command") { run.info.command_line = {"sh", "-c", "true"}; }
    SUBCASE("no digest") { run.info.origin.clear(); }
    SUBCASE("another digest") { run.info.origin[3] = static_cast<char>(run.info.origin[3] ^ 1); }
    CHECK(Planned(run, spec).NeedsYes());
    CHECK(Planned(run, spec).Reason() == "it was recorded on another machine or by another user");
  }

  TEST_CASE("relative paths start where the run was recorded") {
    const model::Run run = RecordedIn("/home/user/run");
    const auto plan = Planned(run, SpecOf("data/*.bin"));
    CHECK(std::get<SourceSpec>(plan.spec.stages[0].kind).files[0] == "/home/user/run/data/*.bin");
    // Recorded right here: the spec stays as it was written.
    std::error_code unknown;
    const model::Run here = RecordedIn(std::filesystem::current_path(unknown).string());
    const auto unmoved = Planned(here, SpecOf("data/*.bin"));
    CHECK(std::get<SourceSpec>(unmoved.spec.stages[0].kind).files[0] == "data/*.bin");
  }

  TEST_CASE("absolute paths below the recorded folder move with the named one") {
    const model::Run run = RecordedIn("/home/user/run");
    const auto plan = replay::PlanRerun(run, SpecOf("/home/user/run/data/*.bin"), "/mnt/moved");
    CHECK(plan.reads.front() == "/mnt/moved/data/*.bin");
    CHECK_FALSE(plan.NeedsYes());
  }

  TEST_CASE("an existing store would be opened, so it counts as read") {
    const model::Run run = RecordedIn("/home/user/run");
    auto spec = ReadSpec(R"({"stages": [{"name": "read", "source": {"format": "synthetic"}},
        {"name": "store", "cache": {"where": "disk", "path": "/etc/passwd"}}]})",
                         "test");
    REQUIRE(spec.ok());
    CHECK(Planned(run, spec.value()).NeedsYes());
    auto memory = ReadSpec(R"({"stages": [{"name": "read", "source": {"format": "synthetic"}},
        {"name": "store", "cache": {"where": "memory"}}]})",
                           "test");
    REQUIRE(memory.ok());
    CHECK_FALSE(Planned(run, memory.value()).NeedsYes());
  }
}
