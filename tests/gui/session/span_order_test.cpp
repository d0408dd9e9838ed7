#include "gui/session/span_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "tests/support/random.h"

using namespace stallscope;
using namespace stallscope::session;

namespace {

const std::atomic<bool> kGoOn{false};

// Three tracks; many spans have the same duration, some begin before the clock's zero.
std::shared_ptr<const model::Run> MakeRun(size_t spans) {
  auto run = std::make_shared<model::Run>();
  run->span_classes.emplace_back();
  test::Random random(5);
  for (uint32_t id = 0; id < 3; ++id) {
    model::Track track;
    track.info.id = TrackId{id};
    track.info.name = "track " + std::to_string(id);
    int64_t at = -1'000'000;
    for (size_t i = 0; i < spans; ++i) {
      at += static_cast<int64_t>(random.Below(1'000));
      track.spans.start_ns.push_back(at);
      track.spans.duration.push_back(static_cast<uint32_t>(random.Below(200)));
      track.spans.span_class.push_back(0);
      track.spans.item.push_back(random.Below(1'000'000'000'000));
    }
    run->tracks.push_back(std::move(track));
  }
  return run;
}

void CheckOrder(const SpanTable& table, SpanColumn column, bool descending, unsigned threads) {
  CAPTURE(WordFor(column));
  CAPTURE(descending);
  const auto value = [&](SpanRowNumber row) -> int64_t {
    const SpanRow at = table.At(row);
    if (column == SpanColumn::kStart) return at.start_ns;
    if (column == SpanColumn::kTrack) return at.ref.track.value;
    return column == SpanColumn::kItem ? static_cast<int64_t>(at.item.value) : at.duration_ns;
  };
  Column<SpanRowNumber> rows(table.size());
  std::iota(rows.begin(), rows.end(), 0U);
  Column<SpanRowNumber> expected = rows;
  std::stable_sort(expected.begin(), expected.end(), [&](SpanRowNumber a, SpanRowNumber b) {
    return descending ? value(a) > value(b) : value(a) < value(b);
  });
  SortRows(table, column, descending, kGoOn, threads, rows);
  CHECK(rows == expected);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("rows sort by value, equal ones by their place in the table") {
    for (const size_t spans : {1U, 50U, 30'000U}) {
      const SpanTable table(MakeRun(spans));
      for (const SpanColumn column :
           {SpanColumn::kStart, SpanColumn::kDuration, SpanColumn::kTrack, SpanColumn::kItem}) {
        CheckOrder(table, column, false, 2);
        CheckOrder(table, column, true, 2);
      }
      CheckOrder(table, SpanColumn::kStart, false, 1);
      CheckOrder(table, SpanColumn::kStart, false, 3);
    }
  }

  TEST_CASE("no rows sort to no rows") {
    const SpanTable table(MakeRun(0));
    Column<SpanRowNumber> rows;
    SortRows(table, SpanColumn::kStart, false, kGoOn, 2, rows);
    CHECK(rows.empty());
  }
}
