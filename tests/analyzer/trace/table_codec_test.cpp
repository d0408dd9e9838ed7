#include "analyzer/trace/table_codec.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/trace_samples.h"
#include "tests/support/wire_bytes.h"

using namespace stallscope;
using namespace stallscope::trace;
using stallscope::test::Random;
using stallscope::test::Varint;
using stallscope::test::Varints;

namespace {

// How many fields an aggregate has: as many as it can be initialised with.
struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
template <class Row, class... Fields>
constexpr size_t FieldCount() {
  if constexpr (requires { Row{Fields{}..., Anything{}}; }) {
    return FieldCount<Row, Fields..., Anything>();
  } else {
    return sizeof...(Fields);
  }
}

template <class Row>
std::vector<Row> Decoded(size_t count, const std::vector<std::string>& columns) {
  std::vector<Row> rows;
  REQUIRE(DecodeTable(count, columns, rows));
  return rows;
}

// Calls visit(Row()) for each kind of row.
template <class Visit>
void ForEachRowType(Visit&& visit) {
  EventRows rows;
  ForEachTable(rows, [&]<class Row>(int, std::vector<Row>&) { visit(Row()); });
}

template <class Row>
std::vector<std::string> Encoded(const std::vector<Row>& rows) {
  return EncodeTable(std::span<const Row>(rows));
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every field of every row has a column") {
    ForEachRowType([]<class Row>(Row) { CHECK(kColumnCount<Row> == FieldCount<Row>()); });
  }

  TEST_CASE("rows of any content come back, of every kind") {
    Random random(5);
    ForEachRowType([&]<class Row>(Row) {
      std::vector<Row> rows;
      for (int i = 0; i < 2'000; ++i) rows.push_back(test::RandomRow<Row>(random));
      CHECK(Decoded<Row>(rows.size(), Encoded(rows)) == rows);
    });
  }

  TEST_CASE("rows of unknowns come back and cost one byte per column") {
    ForEachRowType([]<class Row>(Row) {
      const std::vector<Row> rows(10);
      const std::vector<std::string> columns = Encoded(rows);
      CHECK(Decoded<Row>(rows.size(), columns) == rows);
      for (const std::string& column : columns) CHECK(column.size() == rows.size());
    });
  }

  TEST_CASE("rows are appended to the existing ones") {
    Random random(6);
    ForEachRowType([&]<class Row>(Row) {
      const std::vector<Row> rows = {test::RandomRow<Row>(random), test::RandomRow<Row>(random)};
      std::vector<Row> all = rows;
      REQUIRE(DecodeTable(2, Encoded(rows), all));
      REQUIRE(all.size() == 4);
      CHECK(all[0] == rows[0]);
      CHECK(all[2] == rows[0]);
      CHECK(all[3] == rows[1]);
    });
  }

  TEST_CASE("a count that the columns do not match is refused, and nothing is appended") {
    Random random(7);
    ForEachRowType([&]<class Row>(Row) {
      std::vector<Row> rows;
      for (int i = 0; i < 5; ++i) rows.push_back(test::RandomRow<Row>(random));
      const std::vector<std::string> columns = Encoded(rows);
      std::vector<Row> into = rows;
      for (size_t wrong : {size_t{1}, size_t{4}, size_t{6}, size_t{0xffffffff}}) {
        CHECK_FALSE(DecodeTable(wrong, columns, into));
        CHECK(into == rows);
      }
      for (size_t i = 0; i < columns.size(); ++i) {
        for (const char* tail : {"cut", "cut inside", "one more", "empty", "overlong"}) {
          std::vector<std::string> damaged = columns;
          if (tail == std::string("cut")) damaged[i].pop_back();
          if (tail == std::string("cut inside")) damaged[i].back() = '\x80';
          if (tail == std::string("one more")) damaged[i] += '\0';
          if (tail == std::string("empty")) damaged[i].clear();
          if (tail == std::string("overlong")) damaged[i] = std::string(50, '\xff') + '\0';
          CHECK_FALSE(DecodeTable(5, damaged, into));
          CHECK(into == rows);
        }
      }
    });
  }

  TEST_CASE("a table without some of its columns is refused, one with more is read") {
    Random random(8);
    ForEachRowType([&]<class Row>(Row) {
      const std::vector<Row> rows = {test::RandomRow<Row>(random)};
      std::vector<std::string> columns = Encoded(rows);
      columns.push_back("of a later version");
      CHECK(Decoded<Row>(1, columns) == rows);
      columns.resize(kColumnCount<Row> - 1);
      std::vector<Row> none;
      CHECK_FALSE(DecodeTable(1, columns, none));
      CHECK(none.empty());
      CHECK(DecodeTable(0, std::vector<std::string>(), none));
    });
  }

  TEST_CASE("a value that its field cannot have is refused") {
    std::vector<QueueEvent> events;
    const auto with = [&](size_t column, uint64_t value) {
      std::vector<std::string> columns = Encoded(std::vector<QueueEvent>(1));
      columns[column] = Varint(value);
      return DecodeTable(1, columns, events);
    };
    constexpr uint64_t kBig = uint64_t{1} << 32;
    CHECK(with(0, ZigZag(kMaxTimeNs)));
    CHECK_FALSE(with(0, ZigZag(kMaxTimeNs + 1)));
    CHECK_FALSE(with(0, ZigZag(kMinTimeNs - 1)));
    CHECK(with(2, kBig - 1));
    CHECK(events.back().queue == QueueId{0xfffffffe});
    CHECK_FALSE(with(2, kBig));
    CHECK(with(4, kBig - 1));
    CHECK_FALSE(with(4, kBig));
    CHECK(with(5, 1));
    CHECK_FALSE(with(5, 2));
    CHECK_FALSE(with(5, 256));
    CHECK(events.size() == 4);
  }

  TEST_CASE("an impossible time is written as the nearest possible one") {
    const std::vector<Gap> gaps = {
        {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 1, TrackId{0}}};
    const std::vector<Gap> read = Decoded<Gap>(1, Encoded(gaps));
    CHECK(read[0].from_ns == kMinTimeNs);
    CHECK(read[0].to_ns == kMaxTimeNs);
  }

  TEST_CASE("doubles come back bit for bit, and round ones are short") {
    const double values[] = {0.0,
                             -0.0,
                             1.0,
                             100.0,
                             -1.0 / 3,
                             std::numeric_limits<double>::denorm_min(),
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()};
    std::vector<Sample> samples;
    for (double value : values) samples.push_back({0, value, CounterId{0}});
    const std::vector<Sample> read = Decoded<Sample>(samples.size(), Encoded(samples));
    for (size_t i = 0; i < samples.size(); ++i) {
      CHECK(std::bit_cast<uint64_t>(read[i].value) == std::bit_cast<uint64_t>(samples[i].value));
    }
    CHECK(Encoded(std::vector<Sample>{{0, 100.0, CounterId{0}}})[1].size() == 3);
  }
}
