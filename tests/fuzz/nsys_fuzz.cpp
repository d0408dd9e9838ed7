// Any bytes give a run that keeps its promises, or a one-line error.
#include <cstddef>
#include <cstdint>

#include "analyzer/importers/nsys/nsys.h"
#include "tests/fuzz/foreign_source.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(importers::nsys::LooksLikeDatabase(bytes));
  fuzz::ForeignSource source(bytes);
  const Result<model::Run> run = importers::nsys::ReadNsys(source);
  if (run.ok()) {
    fuzz::RequireGoodRun(run.value());
  } else {
    fuzz::RequireGoodError(run.error());
  }
  return 0;
}
