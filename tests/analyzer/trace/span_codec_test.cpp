#include "analyzer/trace/span_codec.h"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/wire_bytes.h"

using namespace stallscope;
using stallscope::test::Random;
using stallscope::test::Varints;
using stallscope::trace::AppendSpans;
using stallscope::trace::EncodedSpans;
using stallscope::trace::kMaxTimeNs;
using stallscope::trace::kMinTimeNs;
using stallscope::trace::SpanColumns;
using stallscope::trace::SpanEncoder;

namespace {

struct Row {
  uint32_t span_class = 0;
  int64_t start = 0;
  int64_t end = 0;
  ItemId item;
  uint64_t bytes = 0;
  uint64_t cpu = 0;
  TrackId waker;
};

EncodedSpans Encode(const std::vector<Row>& rows) {
  SpanEncoder encoder(TrackId{7});
  for (const Row& row : rows) {
    encoder.Add(row.span_class, row.start, row.end, row.item);
    encoder.AddCost(row.bytes, row.cpu);
    encoder.AddWaker(row.waker);
  }
  return encoder.Take();
}

const std::vector<uint16_t> kClasses = {100, 101, 102, 103};

bool Same(const SpanColumns& spans, size_t i, const Row& row) {
  return spans.start_ns[i] == row.start && spans.EndNs(i) == row.end &&
         spans.DurationNs(i) == row.end - row.start && spans.item[i] == row.item.value &&
         spans.span_class[i] == kClasses[row.span_class] &&
         (spans.bytes.empty() ? 0 : spans.bytes[i]) == row.bytes &&
         (spans.cpu_ns.empty() ? 0 : spans.cpu_ns[i]) == row.cpu &&
         (spans.waker.empty() ? 0 : spans.waker[i]) == row.waker.value + 1;
}

void CheckRoundTrip(const std::vector<Row>& rows) {
  SpanColumns spans;
  REQUIRE(AppendSpans(Encode(rows), kClasses, spans));
  spans.PadOptional();
  REQUIRE(spans.size() == rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(Same(spans, i, rows[i]));
  }
}

// Everything that AppendSpans may change.
bool SameState(const SpanColumns& a, const SpanColumns& b) {
  return a.start_ns == b.start_ns && a.duration == b.duration && a.span_class == b.span_class &&
         a.item == b.item && a.long_durations == b.long_durations && a.bytes == b.bytes &&
         a.cpu_ns == b.cpu_ns && a.waker == b.waker;
}

const std::vector<Row> kThree = {
    {0, 100, 250, ItemId{5}, 10, 0, TrackId::None()},
    {1, 300, 300 + (int64_t{1} << 33), ItemId::None(), 0, 4, TrackId{2}},
    {2, 90, 95, ItemId{3}, 1'000, 9, TrackId{0}}};

constexpr int64_t kLong = int64_t{1} << 32;

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("an empty column yields no spans") {
    SpanColumns spans;
    CHECK(AppendSpans(Encode({}), {}, spans));
    CHECK(spans.size() == 0);
  }

  TEST_CASE("durations around 2^32 ns come back exactly") {
    std::vector<Row> rows;
    int64_t start = 0;
    for (int64_t duration : {int64_t{0}, int64_t{1}, kLong - 2, kLong - 1, kLong, kLong + 1,
                             int64_t{1} << 61, int64_t{3}}) {
      rows.push_back({0, start, start + duration, ItemId::None(), 0, 0, TrackId::None()});
      start += 17;
    }
    CheckRoundTrip(rows);
    SpanColumns spans;
    REQUIRE(AppendSpans(Encode(rows), kClasses, spans));
    CHECK(spans.long_durations.size() == 4);  // from 2^32 - 1 on
    REQUIRE(AppendSpans(Encode(rows), kClasses, spans));
    CHECK(spans.DurationNs(rows.size() + 6) == int64_t{1} << 61);
  }

  TEST_CASE("backward starts, overlaps and the ends of time come back") {
    CheckRoundTrip({{0, 1'000, 2'000, ItemId::None(), 0, 0, TrackId::None()},
                    {0, 1'500, 1'600, ItemId::None(), 0, 0, TrackId::None()},
                    {0, 0, 0, ItemId::None(), 0, 0, TrackId::None()},
                    {0, -5'000, -4'000, ItemId::None(), 0, 0, TrackId::None()},
                    {0, kMinTimeNs, kMaxTimeNs, ItemId::None(), 0, 0, TrackId::None()},
                    {0, kMinTimeNs, kMinTimeNs, ItemId::None(), 0, 0, TrackId::None()},
                    {0, kMaxTimeNs, kMaxTimeNs, ItemId::None(), 0, 0, TrackId::None()}});
  }

  TEST_CASE("none and huge jumps between items come back") {
    constexpr uint64_t kHighest = (uint64_t{1} << 63) - 1;
    std::vector<Row> rows;
    for (ItemId item : {ItemId::None(), ItemId{0}, ItemId{kHighest}, ItemId{0}, ItemId::None(),
                        ItemId{kHighest - 1}, ItemId{1}, ItemId::None(), ItemId{2}}) {
      rows.push_back({0, 0, 0, item, 0, 0, TrackId::None()});
    }
    CheckRoundTrip(rows);
  }

  TEST_CASE("impossible spans become the nearest possible ones") {
    SpanEncoder encoder(TrackId{0});
    encoder.Add(0, 100, 50, ItemId{1});
    encoder.Add(0, 200, 300, ItemId{uint64_t{1} << 63});
    encoder.Add(0, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                ItemId{2});
    SpanColumns spans;
    REQUIRE(AppendSpans(encoder.Take(), kClasses, spans));
    CHECK(spans.start_ns == Column<int64_t>{100, 200, kMinTimeNs});
    CHECK(spans.EndNs(0) == 100);
    CHECK(spans.EndNs(1) == 300);
    CHECK(spans.EndNs(2) == kMaxTimeNs);
    CHECK(spans.item == Column<uint64_t>{1, ItemId::None().value, 2});
  }

  TEST_CASE("random spans come back") {
    Random random(3);
    std::vector<Row> rows;
    for (int i = 0; i < 5'000; ++i) {
      Row row;
      row.span_class = static_cast<uint32_t>(random.Below(kClasses.size()));
      row.start = static_cast<int64_t>(random.OfAnyLength(61)) * (random.OneIn(2) ? 1 : -1);
      row.end = row.start + static_cast<int64_t>(random.OfAnyLength(61));
      if (!random.OneIn(3)) row.item = ItemId{random.OfAnyLength(63)};
      if (random.OneIn(3)) row.bytes = random.OfAnyLength();
      if (random.OneIn(3)) row.cpu = random.OfAnyLength();
      if (random.OneIn(3)) row.waker = TrackId{static_cast<uint32_t>(random.OfAnyLength(31))};
      rows.push_back(row);
    }
    CheckRoundTrip(rows);
  }

  TEST_CASE("an optional column is there only where a span has a value") {
    const EncodedSpans none = Encode({{0, 1, 2, ItemId{1}, 0, 0, TrackId::None()}});
    CHECK(none.bytes.empty());
    CHECK(none.cpu_ns.empty());
    CHECK(none.waker.empty());
    // The first, the last, one in the middle: the rest is 0.
    for (size_t only = 0; only < 5; ++only) {
      std::vector<Row> rows(5);
      rows[only].bytes = 300;
      rows[4 - only].waker = TrackId{0};
      CHECK(Encode(rows).bytes.size() == 6);
      CHECK(Encode(rows).waker.size() == 5);
      CheckRoundTrip(rows);
    }
  }

  TEST_CASE("optional columns that begin in a later chunk are zero before and after") {
    SpanColumns spans;
    const std::vector<Row> plain(3);
    REQUIRE(AppendSpans(Encode(plain), kClasses, spans));
    CHECK(spans.bytes.empty());
    REQUIRE(AppendSpans(Encode(kThree), kClasses, spans));
    REQUIRE(AppendSpans(Encode(plain), kClasses, spans));
    spans.PadOptional();
    CHECK(spans.bytes == std::vector<uint64_t>{0, 0, 0, 10, 0, 1'000, 0, 0, 0});
    CHECK(spans.cpu_ns == std::vector<uint64_t>{0, 0, 0, 0, 4, 9, 0, 0, 0});
    CHECK(spans.waker == std::vector<uint32_t>{0, 0, 0, 0, 3, 1, 0, 0, 0});
  }

  TEST_CASE("a second cost of a span is ignored") {
    SpanEncoder encoder(TrackId{0});
    encoder.Add(0, 0, 1, ItemId{0});
    encoder.AddCost(5, 6);
    encoder.AddCost(7, 8);
    encoder.AddWaker(TrackId{1});
    encoder.AddWaker(TrackId{2});
    SpanColumns spans;
    REQUIRE(AppendSpans(encoder.Take(), kClasses, spans));
    CHECK(spans.bytes == std::vector<uint64_t>{5});
    CHECK(spans.cpu_ns == std::vector<uint64_t>{6});
    CHECK(spans.waker == std::vector<uint32_t>{2});
  }

  TEST_CASE("an emptied encoder starts afresh") {
    SpanEncoder encoder(TrackId{4});
    for (int round = 0; round < 2; ++round) {
      for (const Row& row : kThree) {
        encoder.Add(row.span_class, row.start, row.end, row.item);
        encoder.AddCost(row.bytes, row.cpu);
        encoder.AddWaker(row.waker);
      }
      CHECK(encoder.count() == 3);
      const EncodedSpans taken = encoder.Take();
      CHECK(taken.track == TrackId{4});
      SpanColumns spans;
      REQUIRE(AppendSpans(taken, kClasses, spans));
      spans.PadOptional();
      for (size_t i = 0; i < kThree.size(); ++i) CHECK(Same(spans, i, kThree[i]));
    }
    CHECK(encoder.count() == 0);
  }

  TEST_CASE("an encoder's bound holds whatever is still added to its spans") {
    Random random(4);
    for (int round = 0; round < 50; ++round) {
      SpanEncoder encoder(TrackId{0});
      const size_t costs_from = random.Below(100);
      for (size_t i = 0; i < 100; ++i) {
        const size_t bound_before = encoder.Bound();
        encoder.Add(0, static_cast<int64_t>(random.OfAnyLength(60)), 0, ItemId{random.Next()});
        if (i >= costs_from && random.OneIn(5)) encoder.AddCost(random.Next(), random.Next());
        CHECK(encoder.Bound() <= bound_before + 58);
      }
      const size_t bound = encoder.Bound();
      const EncodedSpans taken = encoder.Take();
      CHECK(taken.span_class.size() + taken.start.size() + taken.duration.size() +
                taken.item.size() + taken.bytes.size() + taken.cpu_ns.size() + taken.waker.size() <=
            bound);
    }
  }

  TEST_CASE("columns that do not match their count are refused, and nothing is appended") {
    SpanColumns spans;
    REQUIRE(AppendSpans(Encode(kThree), kClasses, spans));
    const SpanColumns before = spans;
    const std::vector<std::function<void(EncodedSpans&)>> wrongs = {
        [](EncodedSpans& e) { e.count = 2; },
        [](EncodedSpans& e) { e.count = 4; },
        [](EncodedSpans& e) { e.count = 0; },
        [](EncodedSpans& e) { e.count = std::numeric_limits<uint32_t>::max(); },
        [](EncodedSpans& e) { e.span_class.pop_back(); },
        [](EncodedSpans& e) { e.start.pop_back(); },
        [](EncodedSpans& e) { e.duration.pop_back(); },
        [](EncodedSpans& e) { e.item.pop_back(); },
        [](EncodedSpans& e) { e.item.clear(); },
        [](EncodedSpans& e) { e.bytes.pop_back(); },
        [](EncodedSpans& e) { e.cpu_ns += '\0'; },
        [](EncodedSpans& e) { e.waker += '\0'; },
        [](EncodedSpans& e) { e.span_class += '\0'; },
        [](EncodedSpans& e) { e.start.back() = '\x80'; },
        [](EncodedSpans& e) { e.item = std::string(10, '\xff'); },
        [](EncodedSpans& e) { e.bytes = std::string("\x01\x01\xff", 3); },
    };
    for (size_t i = 0; i < wrongs.size(); ++i) {
      CAPTURE(i);
      EncodedSpans encoded = Encode(kThree);
      wrongs[i](encoded);
      CHECK_FALSE(AppendSpans(encoded, kClasses, spans));
      CHECK(SameState(spans, before));
    }
    CHECK(AppendSpans(Encode(kThree), kClasses, spans));
    CHECK(spans.size() == 6);
  }

  TEST_CASE("a class that is not in the table is refused") {
    SpanColumns spans;
    const EncodedSpans encoded = Encode(kThree);
    CHECK_FALSE(AppendSpans(encoded, {100, 101}, spans));
    CHECK_FALSE(AppendSpans(encoded, {}, spans));
    EncodedSpans huge = encoded;
    huge.span_class = Varints({0, 1, uint64_t{1} << 32});
    CHECK_FALSE(AppendSpans(huge, kClasses, spans));
    CHECK(spans.size() == 0);
    CHECK(AppendSpans(encoded, {100, 101, 102}, spans));
  }

  TEST_CASE("spans outside the limits of time are refused: no sum may overflow") {
    const auto appended = [](std::initializer_list<uint64_t> starts,
                             std::initializer_list<uint64_t> durations) {
      EncodedSpans encoded;
      encoded.count = static_cast<uint32_t>(starts.size());
      encoded.span_class.assign(starts.size(), '\0');
      encoded.item.assign(starts.size(), '\0');
      encoded.start = Varints(starts);
      encoded.duration = Varints(durations);
      SpanColumns spans;
      const bool good = AppendSpans(encoded, kClasses, spans);
      CHECK(spans.size() == (good ? starts.size() : 0));
      CHECK(spans.long_durations.size() <= spans.size());
      return good;
    };
    constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
    const uint64_t last = trace::ZigZag(kMaxTimeNs);
    const uint64_t first = trace::ZigZag(kMinTimeNs);
    CHECK(appended({last}, {0}));
    CHECK(appended({first}, {kMax >> 1}));
    CHECK(appended({last, first - 2}, {0, 0}));
    CHECK_FALSE(appended({last}, {1}));
    CHECK_FALSE(appended({last + 2}, {0}));
    CHECK_FALSE(appended({first + 2}, {0}));
    CHECK_FALSE(appended({0}, {kMax}));
    CHECK_FALSE(appended({0}, {uint64_t{1} << 63}));
    CHECK_FALSE(appended({first}, {uint64_t{1} << 63}));
    CHECK_FALSE(appended({last, 2}, {0, 0}));
    CHECK_FALSE(appended({0, 0, last}, {5, kMax >> 1, 0}));
  }

  TEST_CASE("a waker past 32 bits is refused") {
    EncodedSpans encoded = Encode({{0, 1, 2, ItemId{1}, 0, 0, TrackId{3}}});
    SpanColumns spans;
    CHECK(AppendSpans(encoded, kClasses, spans));
    encoded.waker = Varints({uint64_t{1} << 32});
    CHECK_FALSE(AppendSpans(encoded, kClasses, spans));
    CHECK(spans.size() == 1);
  }
}
