#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "analyzer/base/units.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/data/generate.h"
#include "gui/session/replaying.h"
#include "tests/gui/session/scene.h"

using namespace stallscope;
using namespace stallscope::session;
using test::Do;
using test::OpenAndSettle;
using test::QuietOptions;
using test::SampleTrace;

namespace {

// One worker sleeps for most of a step: three more take what it cannot.
constexpr const char* kSleepyRun = R"json({ "name": "sleepy",
  "stages": [ {"name": "read", "source": {"format": "synthetic", "elements": 100000, "bytes": 256}},
              {"name": "fetch", "map": {"ops": ["sleep(1000)"]}},
              {"name": "batch", "batch": {"size": 8, "drop_remainder": true}},
              {"name": "prefetch", "prefetch": {"buffer_size": 2}} ],
  "trainer": {"device": "emulated", "steps": 60, "emulated": {"compute_us_per_batch": 2000}} })json";

// The same with data below the folder in which it is recorded.
constexpr const char* kSleepyData = R"json({ "name": "sleepy",
  "stages": [ {"name": "read", "source": {"format": "tfrecord", "files": ["data/*.tfrecord"]}},
              {"name": "again", "repeat": {"count": 0}},
              {"name": "decode", "map": {"ops": ["decode_jpeg", "sleep(1000)"]}},
              {"name": "batch", "batch": {"size": 8, "drop_remainder": true}},
              {"name": "prefetch", "prefetch": {"buffer_size": 2}} ],
  "trainer": {"device": "emulated", "steps": 60, "emulated": {"compute_us_per_batch": 2000}} })json";

class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~WorkingFolder() { std::filesystem::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  const std::filesystem::path before_;
};

void RecordWhole(const char* spec, const std::string& trace) {
  Session session(QuietOptions());
  Do(session, intent::EditSpec{spec}, intent::StartRecording{trace});
  const int64_t give_up = MonotonicNs() + 60 * kNsPerSecond;
  while (MonotonicNs() < give_up && session.state()->record.running) session.Settle();
  const auto& error = session.state()->record.error;
  REQUIRE_MESSAGE(!error.has_value(), (error ? error->Line() : ""));
}

size_t RowOf(const Session& session, const std::string& finding) {
  const auto& findings = session.state()->shown.report->findings;
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const auto& row) {
    return row.id == finding && row.recommendation.has_value();
  });
  REQUIRE(found != findings.end());
  return static_cast<size_t>(found - findings.begin());
}

// A copy, so that sweeps lie beside it and not among the samples.
struct CopiedSample {
  test::ScratchDir dir;
  std::string path = dir / "run.sst";
  Session session{QuietOptions()};
  explicit CopiedSample(const std::string& sample) {
    std::filesystem::copy_file(SampleTrace(sample), path);
    OpenAndSettle(session, path);
  }
  const State& state() const { return *session.state(); }
};

size_t FindingWithPatch(const State& state) {
  const auto& findings = state.shown.report->findings;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].recommendation && !findings[i].recommendation->patch.changes.empty()) return i;
  }
  FAIL("nothing is recommended");
  return 0;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a trace from elsewhere is run only after consent, asked once") {
    CopiedSample run("input_decode");
    const size_t finding = FindingWithPatch(run.state());
    Do(run.session, intent::Verify{finding});
    CHECK_FALSE(run.state().verify.running);
    CHECK(run.state().overlay == Overlay::kQuestion);
    CHECK(run.state().question.title.find("Run") != std::string::npos);
    const auto& lines = run.state().question.lines;
    CHECK(std::any_of(lines.begin(), lines.end(),
                      [](const auto& line) { return line.rfind("reads ", 0) == 0; }));
    CHECK(lines.back().starts_with("writes " + run.dir / "run.sweep.json"));
    // No, and what was put away is a no, too.
    Do(run.session, intent::CancelRerun{});
    CHECK(run.state().overlay == Overlay::kNone);
    Do(run.session, intent::ConfirmRerun{});
    CHECK_FALSE(run.state().verify.running);
    Do(run.session, intent::Verify{finding}, intent::Escape{});
    CHECK(run.state().overlay == Overlay::kNone);
    Do(run.session, intent::ConfirmRerun{});
    CHECK_FALSE(run.state().verify.running);
    CHECK_FALSE(std::filesystem::exists(run.dir / "run.sweep.json"));
    // A prediction runs nothing.
    Do(run.session, intent::EditSweep{{"decode.parallelism=1,2"}, SweepRunMode::kSimulate, 1},
       intent::StartSweep{});
    CHECK(run.state().overlay == Overlay::kNone);
    CHECK(run.state().sweep.running);
    run.session.Settle();
    Do(run.session, intent::EditSweep{{"decode.parallelism=1,2"}, SweepRunMode::kBoth, 1},
       intent::StartSweep{});
    CHECK(run.state().overlay == Overlay::kQuestion);
    CHECK_FALSE(run.state().sweep.running);
    Do(run.session, intent::ConfirmRerun{});
    CHECK(run.state().overlay == Overlay::kNone);
    CHECK(run.state().sweep.running);
    run.session.Settle();
    Do(run.session, intent::CancelRerun{});  // of the question where its data is
    // Agreed to for as long as the run is open.
    Do(run.session, intent::Verify{finding});
    CHECK(run.state().overlay == Overlay::kNone);
    CHECK(run.state().verify.running);
    run.session.Settle();
    const RunNumber number = run.state().active;
    Do(run.session, intent::CloseRun{number});
    OpenAndSettle(run.session, run.path);
    Do(run.session, intent::Verify{finding});
    CHECK(run.state().overlay == Overlay::kQuestion);
  }

  TEST_CASE("a killed run is reported") {
    const test::ScratchDir dir;
    const std::string killed = dir / "killed";
    REQUIRE(WriteFileAtomically(killed, "#!/bin/sh\nkill -9 $$\n").ok());
    std::filesystem::permissions(killed, std::filesystem::perms::owner_all);
    SessionOptions options = QuietOptions();
    options.program = killed;
    Session session(options);
    Do(session, intent::EditSpec{kSleepyRun}, intent::StartRecording{dir / "run.sst"});
    const int64_t give_up = MonotonicNs() + 60 * kNsPerSecond;
    const auto whole = [&] {
      const OpenRun* run = session.state()->Active();
      return run != nullptr && run->stage == OpenStage::kReady && run->run->quality.sealed;
    };
    while (MonotonicNs() < give_up && (session.state()->record.running || !whole())) {
      session.Settle();
    }
    REQUIRE(whole());
    session.Settle();
    Do(session, intent::Verify{FindingWithPatch(*session.state())});
    CHECK(session.state()->overlay == Overlay::kNone);  // recorded here, by this user
    session.Settle();
    REQUIRE(session.state()->verify.error.has_value());
    CHECK(session.state()->verify.error->Line().find("signal 9") != std::string::npos);
  }

  TEST_CASE("each line of a sweep is checked as it is typed") {
    CopiedSample run("input_decode");
    Do(run.session, intent::EditSweep{{"decode.parallelism=1,2,4", "", "prefetch.buffer_size=1,2"},
                                      SweepRunMode::kSimulate,
                                      1});
    CHECK(run.state().sweep.problems == std::vector<std::string>{"", "", ""});
    CHECK(run.state().sweep.points == 6);
    Do(run.session, intent::EditSweep{{"decode.paralelism=1,2"}, SweepRunMode::kSimulate, 1});
    CHECK(run.state().sweep.problems[0].find("decode.parallelism") != std::string::npos);
    CHECK(run.state().sweep.points == 0);
    Do(run.session,
       intent::EditSweep{
           {"decode.parallelism=1,2", "decode.parallelism=4"}, SweepRunMode::kSimulate, 1});
    CHECK(run.state().sweep.problems[0].empty());
    CHECK_FALSE(run.state().sweep.problems[1].empty());
  }

  TEST_CASE("a simulated sweep fills its table, and is saved beside the trace") {
    CopiedSample run("input_decode");
    Do(run.session, intent::EditSweep{{"decode.parallelism=1,2,4"}, SweepRunMode::kSimulate, 1},
       intent::StartSweep{});
    CHECK(run.state().sweep.running);
    Do(run.session, intent::StartSweep{});
    CHECK(run.state().notices.size() == 1);  // one at a time
    run.session.Settle();
    CHECK_FALSE(run.state().sweep.running);
    REQUIRE_FALSE(run.state().sweep.error.has_value());
    REQUIRE(run.state().sweep.table != nullptr);
    CHECK(run.state().sweep.table->rows.size() == 3);
    for (const auto& row : run.state().sweep.table->rows) CHECK(row.predicted.has_value());
    CHECK(run.state().sweep.path == run.dir / "run.sweep.json");
    const auto read = ReadSweepTable(run.state().sweep.path);
    REQUIRE(read.ok());
    CHECK(read.value()->rows.size() == 3);
    // The next one has a name of its own.
    Do(run.session, intent::StartSweep{});
    run.session.Settle();
    CHECK(run.state().sweep.path == run.dir / "run.sweep-2.json");
  }

  TEST_CASE("opening a file that is not a sweep is an error") {
    CopiedSample run("balanced");
    Do(run.session, intent::OpenSweep{run.path});
    run.session.Settle();
    CHECK(run.state().sweep.error.has_value());
    CHECK(run.state().sweep.table == nullptr);
  }

  TEST_CASE("a verification whose data is gone asks for its place, and measures nothing") {
    CopiedSample run("input_decode");
    Do(run.session, intent::Verify{FindingWithPatch(run.state())}, intent::ConfirmRerun{});
    CHECK(run.state().verify.running);
    run.session.Settle();
    CHECK_FALSE(run.state().verify.running);
    CHECK(run.state().verify.error.has_value());
    CHECK(run.state().overlay == Overlay::kQuestion);
    CHECK(run.state().question.kind == Question::Kind::kLostData);
    // Agreeing is no answer to it.
    Do(run.session, intent::ConfirmRerun{});
    CHECK_FALSE(run.state().verify.running);
    // The box that asks for the folder keeps what waits for it; putting it away does not.
    Do(run.session, intent::FindData{});
    CHECK(run.state().overlay == Overlay::kOpenPath);
    CHECK(run.state().open == OpenWhat::kDataFolder);
    Do(run.session, intent::SetOverlay{Overlay::kNone});
    Do(run.session, intent::FindData{run.dir.path()});
    CHECK_FALSE(run.state().verify.running);
    CHECK_FALSE(std::filesystem::exists(run.dir / "run.sweep.json"));
  }

  TEST_CASE("a run is verified from any folder, where its data was moved, and by emulation") {
    const test::ScratchDir dir;
    std::filesystem::create_directories(dir / "then/data");
    std::filesystem::create_directories(dir / "now");
    data::GenerateOptions made;
    made.folder = dir / "then/data";
    made.images = 64;
    made.width = 16;
    made.height = 16;
    REQUIRE(data::Generate(made, {}).ok());
    const std::string trace = dir / "then/run.sst";
    {
      const WorkingFolder in(dir / "then");
      RecordWhole(kSleepyData, trace);
    }
    const auto verify = [](Session& session) {
      Do(session, intent::Verify{RowOf(session, "map-parallelism")});
    };
    const auto measured = [](const Session& session) {
      const auto& findings = session.state()->shown.report->findings;
      return findings[RowOf(session, "map-parallelism")].recommendation->measured;
    };
    const WorkingFolder in(dir / "now");
    {
      Session session(QuietOptions());
      OpenAndSettle(session, trace);
      verify(session);
      session.Settle();
      const auto error = session.state()->verify.error;
      REQUIRE_MESSAGE(!error.has_value(), (error ? error->Line() : ""));
      CHECK(measured(session).has_value());
    }
    std::filesystem::remove(dir / "then/run.sweep.json");
    std::filesystem::rename(dir / "then/data", dir / "now/data");
    Session session(QuietOptions());
    OpenAndSettle(session, trace);
    verify(session);
    session.Settle();
    REQUIRE(session.state()->overlay == Overlay::kQuestion);
    CHECK(session.state()->question.folder == dir / "then");
    Do(session, intent::EmulateRerun{});
    CHECK(session.state()->overlay == Overlay::kNone);
    CHECK(session.state()->verify.running);
    session.Settle();
    CHECK_FALSE(session.state()->verify.error.has_value());
    CHECK(session.state()->sweep.table != nullptr);
    CHECK_FALSE(measured(session).has_value());  // the emulation's gain is not the run's
    verify(session);
    session.Settle();
    Do(session, intent::FindData{dir / "now"});
    session.Settle();
    const auto error = session.state()->verify.error;
    REQUIRE_MESSAGE(!error.has_value(), (error ? error->Line() : ""));
    CHECK(measured(session).has_value());
    // The place is kept for as long as the run is open.
    verify(session);
    session.Settle();
    CHECK(session.state()->overlay == Overlay::kNone);
  }

  TEST_CASE("a verification runs the change, and fills in the measured gain") {
    const test::ScratchDir dir;
    Session session(QuietOptions());
    const auto state = [&]() -> const State& { return *session.state(); };
    Do(session, intent::EditSpec{kSleepyRun}, intent::StartRecording{dir / "run.sst"});
    const int64_t give_up = MonotonicNs() + 60 * kNsPerSecond;
    // Until all of the trace is read: what is recommended may be another number before.
    const auto whole = [&] {
      const OpenRun* run = state().Active();
      return run != nullptr && run->stage == OpenStage::kReady && !run->following;
    };
    while (MonotonicNs() < give_up && (state().record.running || !whole())) session.Settle();
    REQUIRE(whole());
    REQUIRE_FALSE(state().record.error.has_value());
    // More workers: a sleep needs no core, so that this is recommended on any machine.
    const auto find = [&](const report::Report& report) -> const report::FindingRow* {
      for (const auto& finding : report.findings) {
        if (finding.id == "map-parallelism" && finding.recommendation) return &finding;
      }
      return nullptr;
    };
    REQUIRE(state().shown.report != nullptr);
    const auto* const before = find(*state().shown.report);
    REQUIRE(before != nullptr);
    CHECK_FALSE(before->recommendation->measured.has_value());
    const auto row = static_cast<size_t>(before - state().shown.report->findings.data());
    Do(session, intent::Verify{row});
    CHECK(state().verify.running);
    session.Settle();
    CHECK_FALSE(state().verify.running);
    REQUIRE_MESSAGE(!state().verify.error.has_value(),
                    (state().verify.error ? state().verify.error->Line() : ""));
    const auto* const after = find(*state().shown.report);
    REQUIRE(after != nullptr);
    REQUIRE(after->recommendation->measured.has_value());
    CHECK(after->recommendation->measured->factor > 1.1);
    CHECK(after->recommendation->measured->runs >= 2);
    CHECK(std::filesystem::exists(dir / "run.sweep.json"));

    // Whoever opens the trace again finds it measured.
    Session later(QuietOptions());
    OpenAndSettle(later, dir / "run.sst");
    const auto* const found = find(*later.state()->shown.report);
    REQUIRE(found != nullptr);
    CHECK(found->recommendation->measured.has_value());
  }

  TEST_CASE("a patched spec is written") {
    CopiedSample run("input_decode");
    const auto& findings = run.state().shown.report->findings;
    for (size_t i = 0; i < findings.size(); ++i) {
      if (!findings[i].recommendation || findings[i].recommendation->patch.changes.empty())
        continue;
      Do(run.session, intent::SavePatchedSpec{i, ""});
      CHECK(run.state().save == SaveWhat::kPatchedSpec);
      CHECK(run.state().save_finding == i);
      Do(run.session, intent::SavePatchedSpec{i, run.dir / "patched.json"});
      run.session.Settle();
      CHECK(ReadSpecFile(run.dir / "patched.json").ok());
      break;
    }
  }
}
