// Whatever bytes a file holds, reading it as trace events ends, and the run keeps its promises.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "analyzer/attribution/attribution.h"
#include "analyzer/importers/chrome/import.h"
#include "analyzer/trace/limits.h"
#include "tests/fuzz/expect.h"

using namespace stallscope;

namespace {

// The input as a source that gives few bytes at a time, so that windows are cut anywhere.
class BytesSource final : public importers::ByteSource {
 public:
  explicit BytesSource(std::string_view bytes)
      : ByteSource("input", false, bytes.size()), bytes_(bytes) {
    head_.assign(bytes.substr(0, kHeadBytes));
  }
  Result<size_t> Read(char* into, size_t size) override {
    const size_t got = bytes_.copy(into, size, at_);
    at_ += got;
    return got;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

template <class IdType>
bool Known(IdType id, size_t size) {
  return !id.known() || id.value < size;
}

void CheckPromises(const model::Run& run) {
  for (const trace::SpanClass& what : run.span_classes) {
    STALLSCOPE_EXPECT(Known(what.stage, run.stages.size()));
    STALLSCOPE_EXPECT(Known(what.queue, run.queues.size()));
    STALLSCOPE_EXPECT(Known(what.name, run.strings.size()));
  }
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      STALLSCOPE_EXPECT(track.spans.span_class[i] < run.span_classes.size());
      STALLSCOPE_EXPECT(trace::IsTime(track.spans.start_ns[i]));
      STALLSCOPE_EXPECT(trace::IsTime(track.spans.EndNs(i)));
      STALLSCOPE_EXPECT(i == 0 || track.spans.EndNs(i - 1) <= track.spans.EndNs(i));
    }
  }
  for (const trace::Kernel& kernel : run.rows.kernels) {
    STALLSCOPE_EXPECT(Known(kernel.track, run.tracks.size()));
    STALLSCOPE_EXPECT(Known(kernel.name, run.strings.size()));
    STALLSCOPE_EXPECT(kernel.start_ns <= kernel.end_ns);
  }
  for (size_t i = 1; i < run.rows.steps.size(); ++i) {
    STALLSCOPE_EXPECT(run.rows.steps[i - 1].index < run.rows.steps[i].index);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  BytesSource source({reinterpret_cast<const char*>(data), size});
  (void)importers::chrome::LooksLikeTraceEvents(source.head());
  const auto run = importers::chrome::ReadTraceEvents(source);
  if (!run.ok()) {
    STALLSCOPE_EXPECT(!run.error().what.empty());
    return 0;
  }
  CheckPromises(run.value());
  const attribution::Attribution attribution = attribution::Attribute(run.value(), 1);
  int64_t sum = 0;
  for (const attribution::DeviceTimeline& timeline : attribution.timelines) {
    for (const attribution::Slice& slice : timeline.slices) sum += slice.end_ns - slice.start_ns;
  }
  STALLSCOPE_EXPECT(sum ==
                    attribution.window.ns() * static_cast<int64_t>(attribution.timelines.size()));
  return 0;
}
