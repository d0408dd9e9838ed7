// Exports a run into a string.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "analyzer/export/export.h"
#include "analyzer/model/loader.h"
#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

namespace stallscope::test {

inline std::string Exported(const model::Run& run, exporting::Format format,
                            exporting::What what = exporting::What::kDefault) {
  std::string text;
  const Status done = exporting::Export(run, format, what, [&](std::string_view piece) -> Status {
    text += piece;
    return {};
  });
  REQUIRE(done.ok());
  return text;
}

inline model::Run Loaded(TraceBuilder& trace) {
  ScratchDir dir;
  trace.Write(dir / "run.sst");
  auto run = model::LoadTrace(dir / "run.sst");
  REQUIRE(run.ok());
  return std::move(run).value();
}

}  // namespace stallscope::test
