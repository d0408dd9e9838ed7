#include <doctest/doctest.h>

#include <filesystem>
#include <functional>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "analyzer/base/units.h"
#include "analyzer/spec/spec_json.h"
#include "tests/gui/session/scene.h"

using namespace stallscope;
using namespace stallscope::session;
using test::Do;
using test::QuietOptions;

namespace {

// No device, no data: steps of a microsecond.
constexpr const char* kShortRun = R"json({ "name": "short",
  "stages": [ {"name": "read", "source": {"format": "synthetic", "elements": 64, "bytes": 256}},
              {"name": "batch", "batch": {"size": 8}} ],
  "trainer": {"device": "emulated", "steps": 8} })json";

void PollUntil(Session& session, const std::function<bool()>& holds) {
  const int64_t give_up = MonotonicNs() + 60 * kNsPerSecond;
  while (!holds() && MonotonicNs() < give_up) session.Settle();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a spec is checked as it is typed, with the knobs of the last valid text") {
    Session session(QuietOptions());
    CHECK_FALSE(session.state()->record.problem.has_value());
    CHECK_FALSE(session.state()->record.knobs.empty());
    Do(session, intent::EditSpec{R"json({ "stages": [ {"name": "read", "sorce": {}} ] })json"});
    REQUIRE(session.state()->record.problem.has_value());
    CHECK(session.state()->record.problem->Line().find("source") != std::string::npos);
    CHECK_FALSE(session.state()->record.knobs.empty());
    Do(session, intent::StartRecording{"never.sst"});
    CHECK_FALSE(session.state()->record.running);
    Do(session, intent::EditSpec{kShortRun});
    CHECK_FALSE(session.state()->record.problem.has_value());
  }

  TEST_CASE("a knob is set in the text, and an invalid value is refused") {
    Session session(QuietOptions());
    Do(session, intent::EditSpec{kShortRun}, intent::SetKnob{"batch.size", "16"});
    const auto spec = ReadSpec(session.state()->record.spec_text, "text");
    REQUIRE(spec.ok());
    CHECK(std::get<BatchSpec>(spec.value().stages[1].kind).size == 16);
    Do(session, intent::SetKnob{"batch.size", "many"});
    CHECK(session.state()->notices.size() == 1);
    CHECK(ReadSpec(session.state()->record.spec_text, "text").value() == spec.value());
  }

  TEST_CASE("a recording runs, counts its steps and opens") {
    const test::ScratchDir dir;
    Session session(QuietOptions());
    Do(session, intent::EditSpec{kShortRun}, intent::StartRecording{dir / "run.sst"});
    CHECK(session.state()->record.running);
    PollUntil(session, [&] {
      return !session.state()->record.running && session.state()->Active() != nullptr &&
             session.state()->Active()->stage == OpenStage::kReady;
    });
    REQUIRE_FALSE(session.state()->record.error.has_value());
    CHECK(session.state()->record.steps == 8);
    CHECK(session.state()->record.recorded == session.state()->active);
    CHECK(test::ActiveRun(session).run->rows.steps.size() == 8);
    CHECK(test::ActiveRun(session).run->quality.sealed);
  }

  TEST_CASE("a stopped recording is complete, a failing one shows why") {
    const test::ScratchDir dir;
    Session session(QuietOptions());
    Do(session, intent::StartRecording{dir / "run.sst"}, intent::StopRecording{});
    PollUntil(session, [&] { return !session.state()->record.running; });
    CHECK_FALSE(session.state()->record.error.has_value());
    Do(session, intent::StartRecording{dir / "no/such/folder.sst"});
    PollUntil(session, [&] { return !session.state()->record.running; });
    CHECK(session.state()->record.error.has_value());
  }

  TEST_CASE("recording over an open trace replaces it") {
    const test::ScratchDir dir;
    const std::string path = dir / "run.sst";
    std::filesystem::copy_file(test::SampleTrace("balanced"), path);
    Session session(QuietOptions());
    test::OpenAndSettle(session, path);
    Do(session, intent::EditSpec{kShortRun}, intent::StartRecording{path});
    PollUntil(session, [&] {
      const OpenRun* const run = session.state()->Active();
      return !session.state()->record.running && run != nullptr &&
             run->stage == OpenStage::kReady && run->run->rows.steps.size() == 8;
    });
    CHECK_FALSE(session.state()->record.error.has_value());
    CHECK(session.state()->runs.size() == 1);
    CHECK(test::ActiveRun(session).run->rows.steps.size() == 8);
    // What this window recorded itself is no less its user's.
    const auto bytes = ReadWholeFile(path, 1 << 24).value();
    Do(session, intent::ExportHtml{path});
    session.Settle();
    CHECK(session.state()->notices.back().level == NoticeLevel::kError);
    CHECK(ReadWholeFile(path, 1 << 24).value() == bytes);
    // And a recording takes the place of traces only.
    REQUIRE(WriteFileAtomically(dir / "spec.json", kShortRun).ok());
    Do(session, intent::OpenSpec{dir / "spec.json"}, intent::StartRecording{dir / "spec.json"});
    CHECK_FALSE(session.state()->record.running);
    CHECK(ReadWholeFile(dir / "spec.json", 1 << 20).value() == kShortRun);
  }
}
