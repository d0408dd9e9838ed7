#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "analyzer/base/units.h"
#include "tests/gui/session/scene.h"

using namespace stallscope;
using namespace stallscope::session;
using test::ActiveRun;
using test::Do;
using test::OpenAndSettle;
using test::QuietOptions;

namespace {

// Until something is so; a test that waits in vain ends, and fails on what it checks next.
void FollowUntil(Session& session, const std::function<bool()>& holds) {
  const int64_t give_up = MonotonicNs() + 60 * kNsPerSecond;
  while (!holds() && MonotonicNs() < give_up) session.Settle();
}

std::string BytesOf(uint64_t steps, bool sealed) {
  const test::ScratchDir dir;
  test::TraceBuilder trace;
  test::BuildSteps(trace, steps);
  if (sealed) trace.Seal(static_cast<int64_t>(steps + 1) * 1'000'000);
  trace.Write(dir / "run.sst");
  return ReadWholeFile(dir / "run.sst", 1 << 24).value();
}

// A trace whose recorder lives as long as the object.
OutputFile Recording(const std::string& path, const std::string& bytes) {
  auto file = OutputFile::Create(path, Over::kOwnInput);
  REQUIRE(file.ok());
  REQUIRE(file.value().Append(bytes).ok());
  REQUIRE(file.value().Publish().ok());
  return std::move(file).value();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a growing trace is read again until it is sealed") {
    const test::ScratchDir dir;
    const std::string path = dir / "run.sst";
    auto recorder = std::make_unique<OutputFile>(Recording(path, BytesOf(10, false)));
    Session session(QuietOptions());
    OpenAndSettle(session, path);
    CHECK(ActiveRun(session).following);
    const Range before = session.state()->view.visible;
    recorder.reset();
    recorder = std::make_unique<OutputFile>(Recording(path, BytesOf(20, false)));
    FollowUntil(session, [&] {
      return ActiveRun(session).run->rows.steps.size() == 20 && ActiveRun(session).following;
    });
    CHECK(ActiveRun(session).following);
    CHECK(session.state()->view.visible.end_ns > before.end_ns);  // all of it was shown
    Do(session, intent::Zoom{2, {}});
    const Range visible = session.state()->view.visible;
    recorder.reset();
    REQUIRE(WriteFileAtomically(path, BytesOf(30, true), Over::kOwnInput).ok());
    FollowUntil(session, [&] { return ActiveRun(session).run->rows.steps.size() == 30; });
    CHECK(ActiveRun(session).run->rows.steps.size() == 30);
    CHECK(ActiveRun(session).index->step_times.size() == 30);
    CHECK_FALSE(ActiveRun(session).following);
    CHECK(session.state()->view.visible == visible);
    CHECK(session.state()->shown.report->steps > 20);
  }

  TEST_CASE("a followed file that vanishes or shrinks is reported, and stays shown") {
    for (const bool gone : {true, false}) {
      CAPTURE(gone);
      const test::ScratchDir dir;
      const std::string path = dir / "run.sst";
      REQUIRE(WriteFileAtomically(path, BytesOf(10, false)).ok());
      Session session(QuietOptions());
      OpenAndSettle(session, path);
      if (gone) {
        std::filesystem::remove(path);
      } else {
        std::filesystem::resize_file(path, 100);
      }
      FollowUntil(session, [&] { return !ActiveRun(session).lost.empty(); });
      CHECK(ActiveRun(session).lost.find(gone ? "is gone" : "shrank") != std::string::npos);
      CHECK(ActiveRun(session).run->rows.steps.size() == 10);
      CHECK(session.state()->notices.size() == 1);
    }
  }

  TEST_CASE("a recorder that dies without a seal is reported, and its trace is priced") {
    const test::ScratchDir dir;
    const std::string path = dir / "run.sst";
    auto recorder = std::make_unique<OutputFile>(Recording(path, BytesOf(20, false)));
    Session session(QuietOptions());
    OpenAndSettle(session, path);
    REQUIRE(ActiveRun(session).following);
    recorder.reset();
    FollowUntil(session, [&] { return !ActiveRun(session).following; });
    session.Settle();
    CHECK_FALSE(ActiveRun(session).following);
    CHECK(ActiveRun(session).lost.find("without sealing") != std::string::npos);
    REQUIRE(session.state()->notices.size() == 1);
    CHECK(session.state()->notices[0].text.find("killed?") != std::string::npos);
    CHECK(ActiveRun(session).run->rows.steps.size() == 20);
  }

  TEST_CASE("an unsealed trace without a writer is not being recorded") {
    const test::ScratchDir dir;
    const std::string path = dir / "run.sst";
    REQUIRE(WriteFileAtomically(path, BytesOf(10, false)).ok());
    Session session(QuietOptions());
    OpenAndSettle(session, path);
    CHECK_FALSE(ActiveRun(session).following);
    CHECK(session.state()->notices.empty());
    // Without locks that it grows is how a recording is known.
    REQUIRE(WriteFileAtomically(path, BytesOf(20, false), Over::kOwnInput).ok());
    FollowUntil(session, [&] { return ActiveRun(session).run->rows.steps.size() == 20; });
    CHECK(ActiveRun(session).run->rows.steps.size() == 20);
  }
}
