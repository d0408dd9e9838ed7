#include "replay/rerun/data_check.h"

#include <doctest/doctest.h>

#include <fstream>

#include "analyzer/spec/spec_json.h"
#include "collectors/capture/data_files.h"
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

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("data that is the recorded one passes, missing or changed data offers to emulate") {
    test::ScratchDir dir;
    std::ofstream(dir / "a.bin") << "as it was";
    const Spec spec = SpecOf(dir / "*.bin");
    const auto data = capture::FindDataFiles(spec);
    REQUIRE(data.ok());
    CHECK(data.value().paths.size() == 1);
    model::Run run;
    run.path = "run.sst";
    run.info.data_fingerprint = data.value().fingerprint;
    CHECK(replay::CheckData(run, spec).ok());

    std::ofstream(dir / "a.bin") << "as it is not";
    const auto changed = replay::CheckData(run, spec);
    REQUIRE_FALSE(changed.ok());
    CHECK(changed.error().kind == ErrorKind::kInput);
    CHECK(changed.error().hint.find("--emulate") != std::string::npos);

    const auto missing = replay::CheckData(run, SpecOf(dir / "*.gone"));
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().kind == ErrorKind::kInput);
    CHECK(missing.error().what.find("*.gone") != std::string::npos);
    CHECK(missing.error().hint.find("--emulate") != std::string::npos);
  }

  TEST_CASE("a run without files always passes") {
    auto spec =
        ReadSpec(R"({"stages": [{"name": "read", "source": {"format": "synthetic"}}]})", "");
    REQUIRE(spec.ok());
    CHECK(replay::CheckData(model::Run(), spec.value()).ok());
  }
}
