// What a made trace is as a run: written, and read as a user's file is.
#pragma once

#include <utility>

#include "analyzer/model/loader.h"
#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

namespace stallscope::test {

inline model::Run LoadedRun(TraceBuilder& trace) {
  const ScratchDir dir;
  trace.Write(dir / "run.sst");
  auto run = model::LoadTrace(dir / "run.sst");
  REQUIRE(run.ok());
  return std::move(run).value();
}

}  // namespace stallscope::test
