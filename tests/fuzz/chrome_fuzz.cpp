// Reading any bytes as trace events ends, and the run keeps its promises. A valid file gives the
// same run with any window size; its attribution adds up.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "analyzer/attribution/attribution.h"
#include "analyzer/importers/chrome/chrome.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/foreign_source.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)

namespace {

void ExpectSameRun(const model::Run& run, const model::Run& again) {
  STALLSCOPE_EXPECT(again.quality.damaged_ranges.empty());
  STALLSCOPE_EXPECT(model::CountSpans(run) == model::CountSpans(again));
  STALLSCOPE_EXPECT(run.strings.size() == again.strings.size());
  STALLSCOPE_EXPECT(run.rows.kernels.size() == again.rows.kernels.size());
  STALLSCOPE_EXPECT(run.rows.steps.size() == again.rows.steps.size());
}

void ReadInWindows(std::string_view bytes, const Result<model::Run>& whole) {
  fuzz::ForeignSource source(bytes, 100 + bytes.size() % 400);
  const auto run = importers::chrome::ReadTraceEvents(source);
  if (run.ok()) fuzz::RequireGoodRun(run.value());
  // How much invalid JSON is tolerated may depend on the window.
  if (!whole.ok() || !whole.value().quality.damaged_ranges.empty()) return;
  if (!nlohmann::json::accept(bytes)) return;
  STALLSCOPE_EXPECT(run.ok());
  ExpectSameRun(whole.value(), run.value());
}

void ExpectWholeWindow(const attribution::Attribution& attribution) {
  for (const attribution::DeviceTimeline& timeline : attribution.timelines) {
    int64_t sum = 0;
    for (const attribution::Slice& slice : timeline.slices) sum += slice.end_ns - slice.start_ns;
    STALLSCOPE_EXPECT(sum == attribution.window.ns());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fuzz::ForeignSource source(bytes);
  static_cast<void>(importers::chrome::LooksLikeTraceEvents(source.head()));
  const auto run = importers::chrome::ReadTraceEvents(source);
  ReadInWindows(bytes, run);
  if (!run.ok()) {
    fuzz::RequireGoodError(run.error());
    return 0;
  }
  fuzz::RequireGoodRun(run.value());
  ExpectWholeWindow(attribution::Attribute(run.value(), 1));
  return 0;
}
