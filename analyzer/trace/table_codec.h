// Rows to columns and back, for all tables except the spans. Each table has one list of its
// columns; new ones go at its end. A reader that knows fewer columns than the file has skips the
// rest. Decoded rows are valid: every enum is known, and every time is within limits.h.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "analyzer/trace/events.h"
#include "analyzer/trace/limits.h"
#include "analyzer/trace/varint.h"

namespace stallscope::trace {

// How a column is written: as it is, or as the zigzag difference from the previous row.
enum class Coding { kPlain, kDelta };

template <auto Member, Coding kHow>
struct TableColumn {
  static constexpr auto kMember = Member;
  static constexpr Coding kCoding = kHow;
};

template <auto Member>
using Plain = TableColumn<Member, Coding::kPlain>;
template <auto Member>
using Delta = TableColumn<Member, Coding::kDelta>;

template <class Row>
struct Columns;

template <>
struct Columns<QueueEvent> {
  using List =
      std::tuple<Delta<&QueueEvent::time_ns>, Delta<&QueueEvent::item>, Plain<&QueueEvent::queue>,
                 Plain<&QueueEvent::track>, Plain<&QueueEvent::depth>, Plain<&QueueEvent::op>>;
};
template <>
struct Columns<Release> {
  using List = std::tuple<Delta<&Release::completed_ns>, Delta<&Release::released_ns>,
                          Delta<&Release::item>, Plain<&Release::stage>>;
};
template <>
struct Columns<Lineage> {
  using List = std::tuple<Delta<&Lineage::in>, Delta<&Lineage::out>, Plain<&Lineage::stage>>;
};
template <>
struct Columns<Batch> {
  using List = std::tuple<Delta<&Batch::time_ns>, Delta<&Batch::batch>, Delta<&Batch::last_arrival>,
                          Plain<&Batch::stage>, Plain<&Batch::size>, Plain<&Batch::shape>>;
};
template <>
struct Columns<Element> {
  using List = std::tuple<Delta<&Element::item>, Delta<&Element::record>, Delta<&Element::offset>,
                          Plain<&Element::bytes>, Plain<&Element::file>, Plain<&Element::epoch>>;
};
template <>
struct Columns<CacheEvent> {
  using List =
      std::tuple<Delta<&CacheEvent::time_ns>, Delta<&CacheEvent::item>, Plain<&CacheEvent::bytes>,
                 Plain<&CacheEvent::stage>, Plain<&CacheEvent::epoch>, Plain<&CacheEvent::op>>;
};
template <>
struct Columns<Copy> {
  using List = std::tuple<Delta<&Copy::enqueued_ns>, Delta<&Copy::start_ns>, Delta<&Copy::end_ns>,
                          Delta<&Copy::batch>, Plain<&Copy::bytes>, Delta<&Copy::correlation>,
                          Plain<&Copy::track>, Plain<&Copy::direction>, Plain<&Copy::memory>>;
};
template <>
struct Columns<Kernel> {
  using List =
      std::tuple<Delta<&Kernel::enqueued_ns>, Delta<&Kernel::start_ns>, Delta<&Kernel::end_ns>,
                 Delta<&Kernel::batch>, Delta<&Kernel::correlation>, Delta<&Kernel::graph>,
                 Plain<&Kernel::track>, Plain<&Kernel::name>>;
};
template <>
struct Columns<Step> {
  using List =
      std::tuple<Delta<&Step::index>, Delta<&Step::requested_ns>, Delta<&Step::received_ns>,
                 Delta<&Step::issued_ns>, Delta<&Step::device_done_ns>, Delta<&Step::batch>,
                 Plain<&Step::track>, Plain<&Step::samples>, Plain<&Step::loss_scale_skipped>>;
};
template <>
struct Columns<Sample> {
  using List = std::tuple<Delta<&Sample::time_ns>, Plain<&Sample::value>, Plain<&Sample::counter>>;
};
template <>
struct Columns<KnobChange> {
  using List = std::tuple<Delta<&KnobChange::time_ns>, Plain<&KnobChange::path>,
                          Plain<&KnobChange::old_value>, Plain<&KnobChange::new_value>>;
};
template <>
struct Columns<Gap> {
  using List = std::tuple<Delta<&Gap::from_ns>, Delta<&Gap::to_ns>, Plain<&Gap::dropped>,
                          Plain<&Gap::track>>;
};
template <>
struct Columns<Probe> {
  using List = std::tuple<Delta<&Probe::start_ns>, Delta<&Probe::end_ns>, Plain<&Probe::stage>,
                          Plain<&Probe::elements>, Plain<&Probe::work_ns>, Plain<&Probe::delay_ns>>;
};

namespace internal {

// The last value of each enum.
template <class Enum>
inline constexpr Enum kLast{};
template <>
inline constexpr QueueOp kLast<QueueOp> = QueueOp::kPop;
template <>
inline constexpr CacheOp kLast<CacheOp> = CacheOp::kFill;
template <>
inline constexpr CopyDirection kLast<CopyDirection> = CopyDirection::kDeviceToDevice;
template <>
inline constexpr CopyMemory kLast<CopyMemory> = CopyMemory::kPageable;

// A field as 64 bits. Signed fields are times. Ids count from 1, so that "none" is the short 0. A
// double's bytes are reversed: the zeros at the end of a round number's mantissa then cost nothing.
template <class T>
uint64_t ToBits(const T& field) {
  if constexpr (std::is_same_v<T, double>) {
    return __builtin_bswap64(std::bit_cast<uint64_t>(field));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<uint64_t>(ClampTime(field));
  } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    return static_cast<uint64_t>(field);
  } else {
    using Number = decltype(field.value);
    return static_cast<Number>(field.value + 1);
  }
}

// False if the field cannot have that value.
template <class T>
bool FromBits(uint64_t bits, T& field) {
  if constexpr (std::is_same_v<T, double>) {
    field = std::bit_cast<double>(__builtin_bswap64(bits));
    return true;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    field = static_cast<int64_t>(bits);
    return IsTime(field);
  } else if constexpr (std::is_enum_v<T>) {
    field = static_cast<T>(bits);
    return bits <= static_cast<uint64_t>(kLast<T>);
  } else if constexpr (std::is_integral_v<T>) {
    field = static_cast<T>(bits);
    return bits <= std::numeric_limits<T>::max();
  } else {
    using Number = decltype(field.value);
    field.value = static_cast<Number>(static_cast<Number>(bits) - 1);
    return bits <= std::numeric_limits<Number>::max();
  }
}

template <class C, class Row>
std::string EncodeColumn(std::span<const Row> rows) {
  std::string column;
  uint64_t before = 0;
  for (const Row& row : rows) {
    const uint64_t bits = ToBits(row.*C::kMember);
    if constexpr (C::kCoding == Coding::kDelta) {
      AppendVarint(column, ZigZag(static_cast<int64_t>(bits - before)));
      before = bits;
    } else {
      AppendVarint(column, bits);
    }
  }
  return column;
}

template <class C, class Row>
bool DecodeColumn(std::string_view column, std::span<Row> rows) {
  ColumnReader reader(column);
  bool good = true;
  uint64_t before = 0;
  for (Row& row : rows) {
    uint64_t bits = reader.Next();
    if constexpr (C::kCoding == Coding::kDelta) {
      bits = before + static_cast<uint64_t>(UnZigZag(bits));
      before = bits;
    }
    good &= FromBits(bits, row.*C::kMember);
  }
  return good && reader.ok() && reader.AtEnd();
}

}  // namespace internal

template <class Row>
constexpr size_t kColumnCount = std::tuple_size_v<typename Columns<Row>::List>;

// One string per column, in the order of the list.
template <class Row>
std::vector<std::string> EncodeTable(std::span<const Row> rows) {
  std::vector<std::string> columns;
  columns.reserve(kColumnCount<Row>);
  [&]<class... C>(std::tuple<C...>*) {
    (columns.push_back(internal::EncodeColumn<C>(rows)), ...);
  }(static_cast<typename Columns<Row>::List*>(nullptr));
  return columns;
}

// Appends `count` rows. False, with nothing appended, if a column does not hold exactly `count`
// values that its field can have; `count` is checked against the columns before any memory is
// spent.
template <class Row, class ColumnStrings>
bool DecodeTable(size_t count, const ColumnStrings& columns, std::vector<Row>& rows) {
  if (count == 0) return true;
  if (static_cast<size_t>(columns.size()) < kColumnCount<Row>) return false;
  auto column = columns.begin();
  for (size_t i = 0; i < kColumnCount<Row>; ++i) {
    if ((column++)->size() < count) return false;
  }
  const size_t before = rows.size();
  rows.resize(before + count);
  const std::span<Row> fresh(rows.data() + before, count);
  bool good = true;
  [&]<class... C>(std::tuple<C...>*) {
    column = columns.begin();
    ((good = good && internal::DecodeColumn<C>(*column++, fresh)), ...);
  }(static_cast<typename Columns<Row>::List*>(nullptr));
  if (!good) rows.resize(before);
  return good;
}

}  // namespace stallscope::trace
