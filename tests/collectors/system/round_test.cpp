#include "collectors/system/pacer.h"

#include <doctest/doctest.h>

#include "tests/collectors/system/readings.h"

using namespace stallscope;          // NOLINT(google-build-using-namespace)
using namespace stallscope::system;  // NOLINT(google-build-using-namespace)
using test::Readings;

namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kInterval = 50 * kMs;

int64_t burned_ns = 0;  // what the thread of the case pretends to have burned

struct Log {
  int bounded = 0;
  int complete = 0;
};

class LoggingSource : public Source {
 public:
  LoggingSource(int64_t period_ns, int64_t cost_ns, Log& log)
      : Source("logging", period_ns), cost_ns_(cost_ns), log_(log) {}
  void Read(CounterSink&, Effort effort) override {
    ++(effort == Effort::kBounded ? log_.bounded : log_.complete);
    burned_ns += cost_ns_;
  }

 private:
  int64_t cost_ns_;
  Log& log_;
};

struct Case {
  // Two sources that cost so much a reading.
  explicit Case(int64_t fast_cost_ns, int64_t slow_cost_ns, double share = 0.001)
      : round(Sources(fast_cost_ns, slow_cost_ns), sink,
              {kInterval, share, [] { return burned_ns; }}) {
    burned_ns = 0;
  }
  std::vector<std::unique_ptr<Source>> Sources(int64_t fast_cost_ns, int64_t slow_cost_ns) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(std::make_unique<LoggingSource>(50 * kMs, fast_cost_ns, fast));
    sources.push_back(std::make_unique<LoggingSource>(200 * kMs, slow_cost_ns, slow));
    return sources;
  }
  // Calls at every beat in [from, to).
  void Run(int64_t from_ms, int64_t to_ms) {
    for (int64_t now = from_ms * kMs; now < to_ms * kMs; now += kInterval) round.SampleOnce(now);
  }

  Log fast;
  Log slow;
  Readings sink;
  Round round;
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("each source is read at its own period") {
    Case one(0, 0);
    one.Run(0, 10'000);
    CHECK(one.fast.bounded == 200);
    CHECK(one.slow.bounded == 50);
    CHECK(one.round.stretch() == 1);
  }

  TEST_CASE("a beat that comes a little early still reads") {
    Case one(0, 0);
    one.round.SampleOnce(1000 * kMs);
    one.round.SampleOnce(1049 * kMs);
    one.round.SampleOnce(1099 * kMs);
    CHECK(one.fast.bounded == 3);
    one.round.SampleOnce(1100 * kMs);  // another look at once: not yet due
    CHECK(one.fast.bounded == 3);
  }

  TEST_CASE("a complete reading takes every source, due or not") {
    Case one(0, 0);
    one.round.SampleAll(0);
    one.round.SampleAll(1);
    CHECK(one.fast.complete == 2);
    CHECK(one.slow.complete == 2);
    one.round.SampleOnce(2);
    CHECK(one.fast.bounded == 0);
  }

  TEST_CASE("a thread over its CPU share reads less often until it is within it") {
    Case one(100'000, 100'000);  // 25 readings of 0.1 ms a second: 0.25%
    one.Run(0, 5'000);
    CHECK(one.round.stretch() > 1.5);
    const int64_t before = burned_ns;
    one.Run(5'000, 65'000);
    const double share = static_cast<double>(burned_ns - before) / 60e9;
    CHECK(share < 0.0011);
    CHECK(share > 0.0005);
  }

  TEST_CASE("the old rate returns when the load ends") {
    Case one(100'000, 100'000);
    one.Run(0, 5'000);
    const int64_t frozen = burned_ns;
    for (int64_t now = 5'000; now < 30'000; now += 50) {
      one.round.SampleOnce(now * kMs);
      burned_ns = frozen;  // the readings have become free
    }
    CHECK(one.round.stretch() == 1);
  }

  TEST_CASE("no period is stretched beyond a second") {
    Case one(500 * kMs, 0);
    one.Run(0, 20'000);
    CHECK(one.fast.bounded >= 20);
    CHECK(one.slow.bounded >= 20);
  }

  TEST_CASE("without a bound nothing is stretched") {
    Case one(10 * kMs, 0, 0);
    one.Run(0, 10'000);
    CHECK(one.fast.bounded == 200);
  }

  TEST_CASE("beats are on a grid from the start; missed and unwanted ones are skipped") {
    CHECK(Pacer::NextBeat(1000, 50, 1000, 0) == 1050);
    CHECK(Pacer::NextBeat(1000, 50, 1049, 0) == 1050);
    CHECK(Pacer::NextBeat(1000, 50, 1050, 0) == 1100);
    CHECK(Pacer::NextBeat(1000, 50, 1234, 0) == 1250);     // four missed
    CHECK(Pacer::NextBeat(1000, 50, 1051, 1200) == 1200);  // nothing is due before
    CHECK(Pacer::NextBeat(1000, 50, 1051, 1225) == 1200);  // due within half an interval of it
    CHECK(Pacer::NextBeat(1000, 50, 1051, 1226) == 1250);
  }
}
