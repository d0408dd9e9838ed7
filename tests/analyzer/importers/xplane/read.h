// Reads an XSpace that a test has put together.
#pragma once

#include <string>

#include "analyzer/base/file.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/importers/xplane/xplane.h"
#include "tests/support/paths.h"

namespace stallscope::test {

inline Result<model::Run> ReadXPlaneFile(const std::string& path) {
  auto source = importers::ByteSource::Open(path);
  if (!source.ok()) return std::move(source).error();
  return importers::xplane::ReadXPlane(*source.value());
}

inline Result<model::Run> ReadSpace(const std::string& bytes) {
  const ScratchDir folder;
  const std::string path = folder / "made.xplane.pb";
  if (auto written = WriteFileAtomically(path, bytes); !written.ok()) {
    return std::move(written).error();
  }
  return ReadXPlaneFile(path);
}

}  // namespace stallscope::test
