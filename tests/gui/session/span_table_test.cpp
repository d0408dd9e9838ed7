#include "gui/session/span_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "tests/support/loaded_run.h"

using namespace stallscope;
using namespace stallscope::session;

namespace {

const std::atomic<bool> kNotStopped{false};

// Decode works for 1, 2, ... 9 us, with a wait after each; one copy, one kernel.
std::shared_ptr<const model::Run> MakeSpanRun() {
  test::TraceBuilder trace;
  const StageId decode = trace.Stage("decode");
  const QueueId queue = trace.Queue("decoded", 4, decode);
  const TrackId a = trace.Thread("worker a", decode);
  const TrackId b = trace.Thread("worker b", decode);
  const TrackId stream = trace.Stream("stream");
  for (int64_t i = 1; i < 10; ++i) {
    const int64_t at = 1'000 + i * 20'000;
    trace.Work(i % 2 == 0 ? a : b, decode, at, at + i * 1'000, ItemId{static_cast<uint64_t>(i)});
    trace.Wait(i % 2 == 0 ? a : b, trace::WaitCause::kFull, queue, at + 10'000, at + 10'500);
  }
  trace.rows().Add(trace::Copy{0, 50'000, 51'000, ItemId{7}, 4'096, 0, stream,
                               trace::CopyDirection::kHostToDevice, trace::CopyMemory::kPinned});
  trace.rows().Add(trace::Kernel{0, 60'000, 62'000, ItemId{7}, 0, 0, stream, trace.Text("matmul")});
  trace.Seal(300'000);
  return std::make_shared<const model::Run>(LoadedRun(trace));
}

SpanList List(const SpanTable& table, const SpanQuery& query) {
  auto list = ListSpans(table, query, kNotStopped);
  REQUIRE(list.ok());
  return std::move(list).value();
}

size_t Count(const SpanTable& table, const std::string& filter) {
  SpanQuery query;
  query.filter = filter;
  return List(table, query).rows.size();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every interval is a row, and each finds the other") {
    const SpanTable table(MakeSpanRun());
    CHECK(table.size() == 20);
    for (SpanRowNumber row = 0; row < table.size(); ++row) {
      CHECK(table.RowOf(table.RefOf(row)) == row);
    }
    CHECK_FALSE(table.RowOf({IntervalKind::kSpan, TrackId{0}, 1'000}).has_value());
    CHECK_FALSE(table.RowOf({IntervalKind::kSpan, TrackId{77}, 0}).has_value());
    CHECK_FALSE(table.RowOf({IntervalKind::kKernel, TrackId{2}, 1}).has_value());
    const SpanRow kernel = table.At(19);
    CHECK(kernel.kind == "kernel");
    CHECK(kernel.name == "matmul");
    CHECK(kernel.duration_ns == 2'000);
  }

  TEST_CASE("all words of a filter must match") {
    const SpanTable table(MakeSpanRun());
    CHECK(Count(table, "") == 20);
    CHECK(Count(table, "matmul") == 1);
    CHECK(Count(table, "kind=wait") == 9);
    CHECK(Count(table, "KIND=Work decode") == 9);
    CHECK(Count(table, "-kind=wait -kind=work") == 2);
    CHECK(Count(table, "worker kind=work duration>7us") == 2);
    CHECK(Count(table, "kind=work duration>=7us") == 3);
    CHECK(Count(table, "kind=work duration<2000") == 1);
    CHECK(Count(table, "item=7") == 3);
    CHECK(Count(table, "-item=7") == 17);
    CHECK(Count(table, "bytes>=4KiB") == 1);
    CHECK(Count(table, "start<50us kind=work") == 2);
    CHECK(Count(table, "cause=full track=b") == 5);
    CHECK(Count(table, "stage=decode kind=work") == 9);
    CHECK(Count(table, "stage=dec") == 0);
    CHECK(Count(table, "nothing of the kind") == 0);
  }

  TEST_CASE("an invalid word is named; text with an operator in it is not one") {
    const SpanTable table(MakeSpanRun());
    for (const char* filter : {"duration>soon", "size=4", "kind>work", "bytes=4parsecs"}) {
      SpanQuery query;
      query.filter = filter;
      const auto list = ListSpans(table, query, kNotStopped);
      REQUIRE_FALSE(list.ok());
      CHECK(list.error().kind == ErrorKind::kUsage);
      CHECK(list.error().what.find(filter) != std::string::npos);
    }
    CHECK(Count(table, "-") == 0);
  }

  TEST_CASE("rows sort by any column, up and down") {
    const SpanTable table(MakeSpanRun());
    for (size_t column = 0; column < kSpanColumns; ++column) {
      SpanQuery query;
      query.sort = static_cast<SpanColumn>(column);
      const SpanList up = List(table, query);
      query.descending = true;
      const SpanList down = List(table, query);
      REQUIRE(up.rows.size() == 20);
      for (size_t i = 0; i + 1 < up.rows.size(); ++i) {
        const SpanRow a = table.At(up.rows[i]);
        const SpanRow b = table.At(up.rows[i + 1]);
        if (query.sort == SpanColumn::kStart) CHECK(a.start_ns <= b.start_ns);
        if (query.sort == SpanColumn::kDuration) CHECK(a.duration_ns <= b.duration_ns);
        if (query.sort == SpanColumn::kTrack) CHECK(a.track <= b.track);
        if (query.sort == SpanColumn::kName) CHECK(a.name <= b.name);
      }
      if (query.sort == SpanColumn::kDuration) {
        CHECK(table.At(down.rows.front()).duration_ns == 9'000);
      }
    }
  }

  TEST_CASE("a range keeps what overlaps it") {
    const SpanTable table(MakeSpanRun());
    SpanQuery query;
    query.range = Range{60'000, 62'000};
    const SpanList list = List(table, query);
    // The second work span ends at 43 us, its wait at 51.5; the third begins at 61 us.
    CHECK(list.rows.size() == 2);
  }

  TEST_CASE("statistics cover the selected rows") {
    const SpanTable table(MakeSpanRun());
    SpanQuery query;
    query.filter = "kind=work";
    query.sort = SpanColumn::kDuration;
    const SpanList list = List(table, query);
    CHECK(list.statistics.count == 9);
    CHECK(list.statistics.sum_ns == 45'000);
    CHECK(list.statistics.min_ns == 1'000);
    CHECK(list.statistics.max_ns == 9'000);
    CHECK(list.statistics.p50_ns == doctest::Approx(5'000).epsilon(0.01));
    uint64_t binned = 0;
    for (const uint64_t bin : list.statistics.histogram) binned += bin;
    CHECK(binned == 9);
    const DurationStatistics part = StatisticsOf(table, list.rows, 7, 100);
    CHECK(part.count == 2);
    CHECK(part.mean_ns == doctest::Approx(8'500));
    CHECK(StatisticsOf(table, list.rows, 5, 5).count == 0);
  }

  TEST_CASE("a canceled query has no result") {
    const SpanTable table(MakeSpanRun());
    const std::atomic<bool> cancelled{true};
    const auto list = ListSpans(table, {}, cancelled);
    REQUIRE(list.ok());
    CHECK(list.value().rows.empty());
  }
}
