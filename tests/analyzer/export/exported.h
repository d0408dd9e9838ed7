// Exports a run into a string.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "analyzer/export/export.h"
#include "tests/support/loaded_run.h"

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

}  // namespace stallscope::test
