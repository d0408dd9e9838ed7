// Traces to test with: rows of any content, whole files as bytes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/frame.h"
#include "analyzer/trace/table_codec.h"
#include "tests/support/random.h"

namespace stallscope::test {

// "stage 3", "track 7", ...; what is asked for is counted.
class NumberedNames : public trace::NameSource {
 public:
  std::string StageName(StageId id) const override { return Name("stage ", id.value); }
  std::string QueueName(QueueId id) const override { return Name("queue ", id.value); }
  std::string TrackName(TrackId id) const override { return Name("track ", id.value); }
  std::string CounterName(CounterId id) const override { return Name("counter ", id.value); }
  std::string String(trace::StringId id) const override { return Name("string ", id.value); }
  int asked() const { return asked_; }

 private:
  std::string Name(const char* kind, uint32_t id) const {
    ++asked_;
    return kind + std::to_string(id);
  }
  mutable int asked_ = 0;
};

// Any value that a field may have; one id in four is none.
template <class T>
T RandomField(Random& random) {
  if constexpr (std::is_same_v<T, double>) {
    const double value = std::bit_cast<double>(random.Next());
    return std::isnan(value) ? 0.5 : value;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    const auto time = static_cast<int64_t>(random.OfAnyLength(62));
    return random.OneIn(2) ? time : -time;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(random.Below(static_cast<uint64_t>(trace::internal::kLast<T>) + 1));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random.OfAnyLength());
  } else {
    using Number = decltype(T::value);
    return random.OneIn(4) ? T::None() : T{static_cast<Number>(random.OfAnyLength())};
  }
}

template <class Row>
Row RandomRow(Random& random) {
  Row row;
  [&]<class... C>(std::tuple<C...>*) {
    ((row.*C::kMember = RandomField<std::remove_reference_t<decltype(row.*C::kMember)>>(random)),
     ...);
  }(static_cast<typename trace::Columns<Row>::List*>(nullptr));
  return row;
}

// `count` rows of every table.
trace::EventRows RandomRows(Random& random, size_t count);
void AddAll(trace::ChunkBuilder& builder, const trace::EventRows& rows);

// Every field filled in.
trace::RunInfo FullRunInfo();
trace::Definitions FullDefinitions();

struct Span {
  uint32_t track = 0;
  trace::SpanClass span_class;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  ItemId item;
  uint64_t bytes = 0;
  uint64_t cpu_ns = 0;
  TrackId waker;
};
// Like a recording's: a few tracks, work and waits in turn, costs here and there.
std::vector<Span> RandomSpans(Random& random, size_t count);
void Add(trace::ChunkBuilder& builder, const Span& span);

// The payload of a chunk of spans, rows, definitions.
std::string RandomPayload(Random& random, size_t spans, size_t rows);

// The bytes of a file: header, then these payloads as frames of stream 0, the last one a seal.
std::string TraceBytes(const std::vector<std::string>& payloads);
// A whole small trace with `chunks` chunks of about this many payload bytes each.
std::string RandomTraceBytes(uint64_t seed, size_t chunks, size_t payload_bytes);

// Where the frames of a whole trace begin; the end of the file comes last.
std::vector<size_t> FrameOffsets(std::string_view bytes);

}  // namespace stallscope::test
