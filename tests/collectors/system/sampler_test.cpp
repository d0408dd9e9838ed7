#include "collectors/system/sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <future>
#include <limits>

#include "collectors/system/pacer.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/collectors/system/readings.h"

using namespace stallscope;          // NOLINT(google-build-using-namespace)
using namespace stallscope::system;  // NOLINT(google-build-using-namespace)
using test::KernelTree;
using test::ScratchDir;

namespace {

constexpr int64_t kHourNs = 3'600'000'000'000;

// The values of each counter, by name, in the order of the trace.
std::map<std::string, std::vector<double>> Samples(const test::RecordedTrace& trace) {
  std::map<uint32_t, std::string> names;
  for (const trace::Chunk& chunk : trace.chunks) {
    names.insert(chunk.counter_names.begin(), chunk.counter_names.end());
  }
  std::map<std::string, std::vector<double>> samples;
  for (const trace::Sample& sample : trace.rows.samples) {
    samples[names.at(sample.counter.value)].push_back(sample.value);
  }
  return samples;
}

bool IsInTable(const std::string& name) {
  return std::any_of(std::begin(kCounterTable), std::end(kCounterTable),
                     [&name](const CounterRow& row) { return name == row.name; });
}

std::map<std::string, std::vector<double>> Record(const SamplerOptions& options) {
  const ScratchDir folder;
  auto recorder = recorder::Recorder::Start(folder / "run.sst", {});
  REQUIRE(recorder.ok());
  auto sampler = SystemSampler::Start(*recorder.value(), options);
  REQUIRE(sampler.ok());
  sampler.value()->Stop();
  sampler.value()->Stop();  // harmless
  recorder.value()->Stop();
  return Samples(test::ReadTrace(folder / "run.sst"));
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("however short a recording is, it holds the first and the last values") {
    KernelTree tree;
    tree.Write("/proc/self/statm", "765 406 377 5 0 123 0\n");
    tree.Write("/proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\n");
    SamplerOptions options;
    options.interval_ns = kHourNs;  // no beat in between
    options.root = tree.root();
    options.nvml_library = STALLSCOPE_FAKE_NVML_LIBRARY;
    const auto samples = Record(options);
    CHECK(samples.at("memory.rss").size() == 2);
    CHECK(samples.at("cpu.steal").size() == 2);
    CHECK(samples.at("gpu1.utilization") == std::vector<double>{41, 41});
    const auto& cpu = samples.at("process.cpu_user");
    REQUIRE(cpu.size() == 2);
    CHECK(cpu[1] >= cpu[0]);
    const auto& own = samples.at("sampler.cpu");
    REQUIRE(own.size() == 2);
    CHECK(own[0] == 0);
    CHECK(own[1] > 0);
    CHECK_FALSE(samples.contains("io.requested"));
    CHECK_FALSE(samples.contains("gpu1.power"));
  }

  TEST_CASE("counters of the real machine reach the trace") {
    SamplerOptions options;
    options.interval_ns = kHourNs;
    options.nvml_library = "";
    const auto samples = Record(options);
    CHECK(samples.at("memory.rss").size() == 2);
    CHECK(samples.at("memory.rss")[0] > 100'000);
    CHECK(samples.at("core0.busy").size() == 2);
  }

  TEST_CASE("what could not be read is listed with its reason") {
    const KernelTree tree;
    const ScratchDir folder;
    auto recorder = recorder::Recorder::Start(folder / "run.sst", {});
    REQUIRE(recorder.ok());
    SamplerOptions options;
    options.interval_ns = kHourNs;
    options.root = tree.root();
    options.nvml_library = "/nowhere/libnvidia-ml.so.1";
    auto sampler = SystemSampler::Start(*recorder.value(), options);
    REQUIRE(sampler.ok());
    std::map<std::string, std::string> reasons;
    for (const Absence& absence : sampler.value()->absences()) {
      CHECK_FALSE(absence.reason.empty());
      CHECK(IsInTable(absence.counter));
      reasons[absence.counter] = absence.reason;
    }
    CHECK(reasons.contains("memory.rss"));
    CHECK(reasons.contains("gpu<n>.power"));
    CHECK_FALSE(reasons.contains("process.cpu_user"));
  }

  TEST_CASE("an invalid interval is refused") {
    const ScratchDir folder;
    auto recorder = recorder::Recorder::Start(folder / "run.sst", {});
    REQUIRE(recorder.ok());
    SamplerOptions options;
    options.interval_ns = 0;
    CHECK_FALSE(SystemSampler::Start(*recorder.value(), options).ok());
  }

  TEST_CASE("a pacer beats, and stops in the middle of a wait that would take an hour") {
    std::promise<int64_t> beaten;
    bool first = true;
    bool ended = false;
    Pacer pacer;
    const auto beat = [&](int64_t now_ns) {
      if (std::exchange(first, false)) beaten.set_value(now_ns);
      return std::numeric_limits<int64_t>::max() / 2;
    };
    REQUIRE(pacer
                .Start(
                    "test", 1'000'000, beat, [&] { ended = true; }, [](const Error&) {})
                .ok());
    CHECK(beaten.get_future().get() > 0);
    pacer.Stop();
    CHECK(ended);
    pacer.Stop();
  }
}
