#include "analyzer/attribution/track_view.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/analyzer/attribution/run_builder.h"
#include "tests/support/random.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::Random;
using test::RunBuilder;

namespace {

constexpr int64_t kEnd = 80;
constexpr size_t kNobody = ~size_t{0};

struct Tree {
  Random& random;
  RunBuilder& b;
  TrackId track;
  StageId stage;

  // Emits spans within [start, end) in the order of their ends, some around others.
  void Fill(int64_t start, int64_t end, int depth) {
    int64_t now = start;
    while (now < end) {
      now += static_cast<int64_t>(random.Below(6));
      const int64_t until = std::min(end, now + static_cast<int64_t>(random.Below(20)));
      if (until < now) return;
      if (depth < 4 && random.OneIn(2)) Fill(now, until, depth + 1);
      b.Work(track, stage, now, until);
      now = until + (random.OneIn(2) ? 1 : 0);
      if (now == start && random.OneIn(3)) return;
    }
  }
};

// By instant the innermost span: of those that hold it the one that began last, and of spans with
// the same start the one that ended first, which was emitted first.
std::vector<size_t> Innermost(const trace::SpanColumns& spans) {
  std::vector<size_t> owner(kEnd, kNobody);
  for (int64_t t = 0; t < kEnd; ++t) {
    for (size_t i = 0; i < spans.size(); ++i) {
      if (spans.start_ns[i] > t || spans.EndNs(i) <= t) continue;
      size_t& best = owner[static_cast<size_t>(t)];
      if (best == kNobody || spans.start_ns[i] > spans.start_ns[best]) best = i;
    }
  }
  return owner;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("walk: each instant belongs to the innermost span") {
    Random random(6);
    for (int i = 0; i < 1000; ++i) {
      RunBuilder b;
      const StageId stage = b.Stage("s");
      const TrackId track = b.Thread("t", stage);
      Tree{random, b, track, stage}.Fill(static_cast<int64_t>(random.Below(10)), kEnd, 0);
      const model::Run run = b.Take();
      const TrackView view(run, run.tracks[0]);
      const std::vector<size_t> expected = Innermost(run.tracks[0].spans);
      for (int j = 0; j < 5; ++j) {
        const auto start = static_cast<int64_t>(random.Below(kEnd));
        const attribution::Interval range{
            start, start + static_cast<int64_t>(random.Below(static_cast<uint64_t>(kEnd - start)))};
        std::vector<size_t> owner(kEnd, kNobody);
        std::vector<int> seen(kEnd);
        int64_t total = 0;
        const auto paint = [&](size_t span, attribution::Interval part) {
          REQUIRE(part.start_ns >= range.start_ns);
          REQUIRE(part.end_ns <= range.end_ns);
          REQUIRE(part.ns() > 0);
          total += part.ns();
          for (int64_t t = part.start_ns; t < part.end_ns; ++t) {
            owner[static_cast<size_t>(t)] = span;
            ++seen[static_cast<size_t>(t)];
          }
        };
        view.Walk(range, paint, [&](size_t after, attribution::Interval part) {
          paint(kNobody, part);
          REQUIRE(after == view.FirstEndingAfter(part.start_ns));
        });
        REQUIRE(total == range.ns());
        for (int64_t t = 0; t < kEnd; ++t) {
          const bool inside = t >= range.start_ns && t < range.end_ns;
          REQUIRE(seen[static_cast<size_t>(t)] == (inside ? 1 : 0));
          if (inside) REQUIRE(owner[static_cast<size_t>(t)] == expected[static_cast<size_t>(t)]);
        }
      }
    }
  }

  TEST_CASE("walk: unordered spans still add up") {
    Random random(7);
    for (int i = 0; i < 3000; ++i) {
      RunBuilder b;
      const StageId stage = b.Stage("s");
      const TrackId track = b.Thread("t", stage);
      for (uint64_t n = random.Below(12); n-- > 0;) {
        const auto start = static_cast<int64_t>(random.Below(kEnd));
        b.Work(track, stage, start, start + static_cast<int64_t>(random.Below(20)));
      }
      const model::Run run = b.Take();
      const TrackView view(run, run.tracks[0]);
      const attribution::Interval range{5, 5 + static_cast<int64_t>(random.Below(70))};
      Intervals parts;
      const auto keep = [&](size_t, attribution::Interval part) { parts.push_back(part); };
      view.Walk(range, keep, keep);
      REQUIRE(Length(parts) == range.ns());
      REQUIRE(Length(UnionWithin(parts, range)) == range.ns());
    }
  }

  TEST_CASE("final span: nothing after it begins before its end") {
    Random random(8);
    for (int i = 0; i < 500; ++i) {
      RunBuilder b;
      const StageId stage = b.Stage("s");
      const TrackId track = b.Thread("t", stage);
      Tree{random, b, track, stage}.Fill(0, kEnd, 0);
      const model::Run run = b.Take();
      const trace::SpanColumns& spans = run.tracks[0].spans;
      const TrackView view(run, run.tracks[0]);
      for (size_t s = 0; s < spans.size(); ++s) {
        bool final = true;
        for (size_t later = s + 1; later < spans.size(); ++later) {
          final = final && spans.start_ns[later] >= spans.EndNs(s);
        }
        REQUIRE(view.Final(s) == final);
      }
      for (int64_t t = -1; t <= kEnd; ++t) {
        size_t first = 0;
        while (first < spans.size() && spans.EndNs(first) <= t) ++first;
        REQUIRE(view.FirstEndingAfter(t) == first);
      }
    }
  }

  TEST_CASE("stage of a wait: the enclosing work's, otherwise the track's") {
    RunBuilder b;
    const StageId read = b.Stage("read", "source");
    const StageId map = b.Stage("map");
    const TrackId track = b.Thread("map/0", map);
    const auto io = trace::WaitCause::kIo;
    b.Wait(track, io, QueueId::None(), 10, 20);  // in read in map
    b.Work(track, read, 5, 25);
    b.Wait(track, io, QueueId::None(), 30, 40);  // in map
    b.Work(track, map, 0, 50);
    b.Wait(track, io, QueueId::None(), 60, 70);  // in nothing
    b.Work(track, read, 75, 80);
    const model::Run run = b.Take();
    const TrackView view(run, run.tracks[0]);
    CHECK(view.StageOf(0) == read);
    CHECK(view.StageOf(1) == read);
    CHECK(view.StageOf(2) == map);
    CHECK(view.StageOf(3) == map);
    CHECK(view.StageOf(4) == map);
  }
}
