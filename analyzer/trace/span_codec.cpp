#include "analyzer/trace/span_codec.h"

#include <algorithm>
#include <limits>

namespace stallscope::trace {
namespace {

// Decodes into the last `count` places of the columns, which must exist.
bool DecodeRequired(const EncodedSpans& encoded, const std::vector<uint16_t>& classes, size_t first,
                    SpanColumns& spans) {
  ColumnReader class_reader(encoded.span_class);
  uint16_t* const span_class = spans.span_class.data() + first;
  bool known = true;
  class_reader.ForEach(encoded.count, [&](size_t i, uint64_t number) {
    if (number >= classes.size()) [[unlikely]] {
      known = false;
    } else {
      span_class[i] = classes[number];
    }
  });
  if (!known) return false;

  ColumnReader duration_reader(encoded.duration);
  uint32_t* const duration = spans.duration.data() + first;
  bool wraps = false;
  duration_reader.ForEach(encoded.count, [&](size_t i, uint64_t ns) {
    if (ns < SpanColumns::kLongDuration) [[likely]] {
      duration[i] = static_cast<uint32_t>(ns);
    } else {
      wraps = wraps || static_cast<int64_t>(ns) < 0;
      duration[i] = SpanColumns::kLongDuration;
      spans.long_durations.emplace_back(first + i, static_cast<int64_t>(ns));
    }
  });
  if (wraps) return false;

  ColumnReader start_reader(encoded.start);
  int64_t* const start_ns = spans.start_ns.data() + first;
  uint64_t last_end = 0;
  // Top bits of times moved to 0 .. 2^63 - 1: set if one of them was not a time.
  constexpr auto kBias = static_cast<uint64_t>(-kMinTimeNs);
  uint64_t out_of_range = 0;
  start_reader.ForEach(encoded.count, [&](size_t i, uint64_t distance) {
    const uint64_t start = last_end + static_cast<uint64_t>(UnZigZag(distance));
    start_ns[i] = static_cast<int64_t>(start);
    last_end = start + static_cast<uint64_t>(spans.DurationNs(first + i));
    out_of_range |= (start + kBias) | (last_end + kBias);
  });
  if (out_of_range >> 63 != 0) return false;

  ColumnReader item_reader(encoded.item);
  uint64_t* const item = spans.item.data() + first;
  uint64_t last_item = 0;
  item_reader.ForEach(encoded.count, [&](size_t i, uint64_t bits) {
    if (bits == 0) {
      item[i] = ItemId::None().value;
    } else {
      last_item += static_cast<uint64_t>(UnZigZag(bits - 1));
      item[i] = last_item;
    }
  });
  return class_reader.ok() && class_reader.AtEnd() && duration_reader.ok() &&
         duration_reader.AtEnd() && start_reader.ok() && start_reader.AtEnd() && item_reader.ok() &&
         item_reader.AtEnd();
}

template <class Number>
bool DecodeOptional(const std::string& column, size_t first, size_t count,
                    std::vector<Number>& into) {
  if (column.empty()) return true;
  into.resize(first + count);
  ColumnReader reader(column);
  uint64_t all = 0;
  for (size_t i = first; i < first + count; ++i) {
    const uint64_t value = reader.Next();
    into[i] = static_cast<Number>(value);
    all |= value;
  }
  return all <= std::numeric_limits<Number>::max() && reader.ok() && reader.AtEnd();
}

void Resize(SpanColumns& spans, size_t size) {
  spans.start_ns.resize(size);
  spans.duration.resize(size);
  spans.span_class.resize(size);
  spans.item.resize(size);
}

}  // namespace

void SpanColumns::Reserve(size_t spans) {
  start_ns.reserve(spans);
  duration.reserve(spans);
  span_class.reserve(spans);
  item.reserve(spans);
}

void SpanColumns::PadOptional() {
  if (!bytes.empty()) bytes.resize(size());
  if (!cpu_ns.empty()) cpu_ns.resize(size());
  if (!waker.empty()) waker.resize(size());
}

int64_t SpanColumns::LongDurationNs(size_t i) const {
  return std::lower_bound(long_durations.begin(), long_durations.end(), std::pair{i, int64_t{0}})
      ->second;
}

bool AppendSpans(const EncodedSpans& encoded, const std::vector<uint16_t>& classes,
                 SpanColumns& spans) {
  const size_t count = encoded.count;
  for (const std::string* column :
       {&encoded.span_class, &encoded.start, &encoded.duration, &encoded.item}) {
    if (column->size() < count) return false;
  }
  for (const std::string* column : {&encoded.bytes, &encoded.cpu_ns, &encoded.waker}) {
    if (!column->empty() && column->size() < count) return false;
  }
  const size_t first = spans.size();
  const size_t long_before = spans.long_durations.size();
  const size_t bytes_before = spans.bytes.size();
  const size_t cpu_before = spans.cpu_ns.size();
  const size_t waker_before = spans.waker.size();
  Resize(spans, first + count);
  if (DecodeRequired(encoded, classes, first, spans) &&
      DecodeOptional(encoded.bytes, first, count, spans.bytes) &&
      DecodeOptional(encoded.cpu_ns, first, count, spans.cpu_ns) &&
      DecodeOptional(encoded.waker, first, count, spans.waker)) {
    return true;
  }
  Resize(spans, first);
  spans.long_durations.resize(long_before);
  spans.bytes.resize(bytes_before);
  spans.cpu_ns.resize(cpu_before);
  spans.waker.resize(waker_before);
  return false;
}

}  // namespace stallscope::trace
