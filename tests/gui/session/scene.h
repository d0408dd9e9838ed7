// A small run to look at, and a session without anything that outlives the test.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "gui/session/session.h"
#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

namespace stallscope::test {

inline std::string SampleTrace(const std::string& name) {
  return SourceDir() + "/sample_traces/" + name + ".sst";
}

inline session::SessionOptions QuietOptions() {
  session::SessionOptions options;
  options.settings.tour_done = true;
  options.tool = "test";
  // Most tests look at the samples, which nothing may be left beside.
  options.side_files = false;
  return options;
}

// With bookmarks and the last view saved beside the trace.
inline session::SessionOptions KeepingOptions() {
  session::SessionOptions options = QuietOptions();
  options.side_files = true;
  return options;
}

template <class... T>
void Do(session::Session& session, T... intents) {
  session::Intents all;
  (all.Add(std::move(intents)), ...);
  session.Apply(all);
}

inline const session::OpenRun& ActiveRun(const session::Session& session) {
  const session::OpenRun* const run = session.state()->Active();
  REQUIRE(run != nullptr);
  return *run;
}

// Opens a trace and waits until everything is known about it.
inline void OpenAndSettle(session::Session& session, const std::string& path) {
  Do(session, session::intent::OpenFile{path, false});
  session.Settle();
  REQUIRE(ActiveRun(session).stage == session::OpenStage::kReady);
}

// Steps of 1 ms, in which a decoder works for 600 us and the trainer waits for it.
inline void BuildSteps(TraceBuilder& trace, uint64_t steps) {
  const StageId decode = trace.Stage("decode", "map", 1);
  const QueueId queue = trace.Queue("decoded", 4, decode);
  const TrackId worker = trace.Thread("decode 0", decode);
  const TrackId trainer = trace.Thread("trainer");
  for (uint64_t step = 0; step < steps; ++step) {
    const int64_t at = 1'000'000 * static_cast<int64_t>(step + 1);
    const ItemId batch{step};
    trace.Work(worker, decode, at, at + 600'000, batch);
    trace.Wait(trainer, trace::WaitCause::kEmpty, queue, at, at + 600'000);
    trace.rows().Add(trace::QueueEvent{at + 600'000, batch, queue, worker,
                                       static_cast<uint32_t>(step % 4), trace::QueueOp::kPush});
    trace.rows().Add(
        trace::Step{step, at, at + 600'000, at + 610'000, at + 1'000'000, batch, trainer, 8, 0});
  }
}

}  // namespace stallscope::test
