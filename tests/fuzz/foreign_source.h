// A fuzzer's bytes as a foreign file, and what must hold for every run made from one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/model/run.h"

namespace stallscope::fuzz {

// As if unpacked from an archive: nothing can look for them on disk. With a shorter head than
// possible, as of a file that has grown since, pieces are small and cut anywhere.
class ForeignSource : public importers::ByteSource {
 public:
  explicit ForeignSource(std::string_view bytes, size_t head = kHeadBytes)
      : importers::ByteSource("fuzz", true, false, bytes.size()), bytes_(bytes) {
    head_ = bytes.substr(0, head);
  }
  Result<size_t> Read(char* into, size_t size) override {
    const size_t count = std::min(size, bytes_.size() - at_);
    std::memcpy(into, bytes_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

inline void Require(bool holds) {
  if (!holds) std::abort();
}

template <class Row>
void RequireGoodDeviceRow(const model::Run& run, const Row& row) {
  Require(row.track.value < run.tracks.size() && row.end_ns >= row.start_ns);
  Require(trace::IsTime(row.start_ns) && trace::IsTime(row.end_ns));
  Require(trace::IsTime(row.enqueued_ns));
}

// The promises of run.h.
inline void RequireGoodRun(const model::Run& run) {
  for (size_t i = 0; i < run.tracks.size(); ++i) {
    const model::Track& track = run.tracks[i];
    Require(track.info.id.value == i && !track.info.name.empty());
    Require(!track.info.stage.known() || track.info.stage.value < run.stages.size());
    int64_t before = trace::kMinTimeNs;
    for (size_t s = 0; s < track.spans.size(); ++s) {
      Require(track.spans.span_class[s] < run.span_classes.size());
      Require(trace::IsTime(track.spans.start_ns[s]) && trace::IsTime(track.spans.EndNs(s)));
      Require(track.spans.EndNs(s) >= before);
      before = track.spans.EndNs(s);
    }
  }
  for (const trace::SpanClass& what : run.span_classes) {
    Require(!what.stage.known() || what.stage.value < run.stages.size());
    Require(!what.queue.known() || what.queue.value < run.queues.size());
    Require(!what.name.known() || what.name.value < run.strings.size());
  }
  for (const trace::Kernel& kernel : run.rows.kernels) {
    RequireGoodDeviceRow(run, kernel);
    Require(!kernel.name.known() || kernel.name.value < run.strings.size());
  }
  for (const trace::Copy& copy : run.rows.copies) RequireGoodDeviceRow(run, copy);
  for (size_t i = 1; i < run.rows.steps.size(); ++i) {
    Require(run.rows.steps[i].index > run.rows.steps[i - 1].index);
  }
  for (const trace::Step& step : run.rows.steps) {
    Require(trace::IsTime(step.requested_ns) && step.requested_ns <= step.received_ns);
    Require(step.received_ns <= step.issued_ns && step.issued_ns <= step.device_done_ns);
    Require(trace::IsTime(step.device_done_ns));
  }
}

inline void RequireGoodError(const Error& error) {
  Require(error.kind == ErrorKind::kInput && !error.what.empty());
  Require(error.Line().find('\n') == std::string::npos);
}

}  // namespace stallscope::fuzz
