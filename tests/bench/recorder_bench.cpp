// What a span costs the thread that writes it, compared with the minimum: two clock readings and
// one store of 24 bytes. The ring is drained to disk meanwhile.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "collectors/recorder/recorder.h"

namespace {

using stallscope::ItemId;
using stallscope::NowTicks;
using stallscope::StageId;
using stallscope::Ticks;
using stallscope::recorder::Options;
using stallscope::recorder::Recorder;
using stallscope::recorder::Slot;
using stallscope::recorder::SpanScope;
using stallscope::recorder::ThreadScope;

class Recorded : public benchmark::Fixture {
 public:
  void SetUp(const benchmark::State&) override {
    path_ = "/tmp/stallscope_bench." + std::to_string(getpid()) + ".sst";
    Options options;
    options.ring_slots = size_t{1} << 18;
    auto started = Recorder::Start(path_, {}, options);
    if (!started.ok()) std::abort();
    recorder_ = std::move(started).value();
    thread_ = std::make_unique<ThreadScope>(recorder_.get(), "bench");
  }
  void TearDown(const benchmark::State&) override {
    thread_.reset();
    summary_ = recorder_->Stop();
    recorder_.reset();
    unlink(path_.c_str());
  }

 protected:
  std::string path_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<ThreadScope> thread_;
  stallscope::recorder::Summary summary_;
};

void TwoStampsAndAStore(benchmark::State& state) {
  std::vector<Slot> ring(4096);
  uint64_t at = 0;
  for (auto _ : state) {
    const Ticks start = NowTicks();
    benchmark::ClobberMemory();
    const Ticks end = NowTicks();
    ring[at & 4095] = {start, end, at};
    ++at;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(TwoStampsAndAStore);

BENCHMARK_F(Recorded, Span)(benchmark::State& state) {
  uint64_t item = 0;
  for (auto _ : state) {
    SpanScope span(StageId{3}, ItemId{item++});
    benchmark::ClobberMemory();
  }
}

// Adjacent stages share one timestamp at their boundary.
BENCHMARK_F(Recorded, SharedBoundary)(benchmark::State& state) {
  uint64_t item = 0;
  SpanScope span(StageId{3}, ItemId{item});
  for (auto _ : state) {
    span.Next(StageId{static_cast<uint32_t>(item & 3)}, ItemId{item});
    ++item;
    benchmark::ClobberMemory();
  }
}

void SwitchedOff(benchmark::State& state) {
  uint64_t item = 0;
  for (auto _ : state) {
    SpanScope span(StageId{3}, ItemId{item++});
    benchmark::ClobberMemory();
  }
}
BENCHMARK(SwitchedOff);

}  // namespace

BENCHMARK_MAIN();
