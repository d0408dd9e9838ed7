#include "analyzer/attribution/device_use.h"

#include <doctest/doctest.h>

#include <limits>

#include "analyzer/trace/limits.h"
#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using namespace stallscope::attribution;
using doctest::Approx;
using test::RunBuilder;
using trace::CopyDirection;
using trace::CopyMemory;

TEST_SUITE("fast") {
  TEST_CASE("a device is busy while any of its kernels or copies runs, warm-up included") {
    RunBuilder b;
    const TrackId one = b.Stream(2);
    const TrackId two = b.Stream(2);
    const TrackId copies = b.CopyEngine(2);
    b.run.info.device.name = "emulated";
    b.Kernel(one, -500, -400);  // before the window
    b.Kernel(one, 0, 50);
    b.Kernel(two, 30, 80);
    b.Kernel(one, 60, 70);
    b.Copy(copies, 75, 100, 10);
    b.Kernel(two, 90, 80);  // runs backwards: counts, and lasts nothing
    b.Step({.index = 0, .requested = 0, .received = 0, .done = 300});
    const Attribution a = Attribute(b.Take());
    REQUIRE(a.devices.size() == 1);
    const DeviceUse& use = a.devices[0];
    CHECK(use.device == 2);
    CHECK(use.name == "emulated");
    CHECK(use.kernels == 5);
    CHECK(use.kernel_ns == 180);
    CHECK(use.busy_ns == 200);
  }

  TEST_CASE("devices and ranks are separate, even one that did nothing") {
    RunBuilder b;
    b.Kernel(b.Stream(1, 1), 0, 10);
    b.Kernel(b.Stream(0, 0), 0, 20);
    b.Stream(1, 0);
    const auto devices = Attribute(b.Take()).devices;
    REQUIRE(devices.size() == 3);
    CHECK((devices[0].rank == 0 && devices[0].device == 0 && devices[0].busy_ns == 20));
    CHECK((devices[1].rank == 0 && devices[1].device == 1 && devices[1].busy_ns == 0));
    CHECK((devices[2].rank == 1 && devices[2].device == 1 && devices[2].busy_ns == 10));
  }

  TEST_CASE("arithmetic: of real computation, and its share of a known peak") {
    const auto arithmetic_of = [](auto change) {
      RunBuilder b;
      b.run.info.device.kind = "host";
      b.run.info.flops_per_step = 1000;
      const TrackId stream = b.Stream();
      for (uint64_t k = 0; k < 40; ++k) {
        const auto at = static_cast<int64_t>(k) * 100;
        b.Step({.index = k, .requested = at, .received = at, .done = at + 100});
        b.Kernel(stream, at, at + 50);
      }
      change(b.run.info);
      return Attribute(b.Take()).arithmetic;
    };
    const auto known =
        arithmetic_of([](trace::RunInfo& run) { run.device.peak_flops_per_s = 40'000'000'000; });
    REQUIRE(known.has_value());
    CHECK(known->flops_per_s == Approx(1000 / 100e-9));
    CHECK(known->flops_per_s_computing == Approx(1000 / 50e-9));
    CHECK(known->fraction_of_peak == Approx(0.25));
    const auto without_peak = arithmetic_of([](trace::RunInfo&) {});
    REQUIRE(without_peak.has_value());
    CHECK_FALSE(without_peak->fraction_of_peak.has_value());
    CHECK_FALSE(arithmetic_of([](trace::RunInfo& run) { run.device.kind = "emulated"; }));
    CHECK_FALSE(arithmetic_of([](trace::RunInfo& run) { run.flops_per_step = 0; }));
  }

  TEST_CASE("copies by direction and memory") {
    RunBuilder b;
    const TrackId engine = b.CopyEngine();
    b.Copy(engine, 0, 10, 100, CopyDirection::kHostToDevice, CopyMemory::kPinned);
    b.Copy(engine, 5, 25, 200, CopyDirection::kHostToDevice, CopyMemory::kPinned);
    b.Copy(engine, 30, 31, 400, CopyDirection::kHostToDevice, CopyMemory::kPageable);
    b.Copy(engine, 40, 42, 800, CopyDirection::kDeviceToHost, CopyMemory::kPinned);
    b.Copy(engine, 50, 53, 1600, CopyDirection::kDeviceToDevice, CopyMemory::kUnknown);
    const auto copies = Attribute(b.Take()).devices.at(0).copies;
    REQUIRE(copies.size() == 4);
    const auto is = [&](size_t i, CopyDirection direction, CopyMemory memory, uint64_t count,
                        uint64_t bytes, int64_t ns) {
      const CopyUse& use = copies[i];
      CHECK(use.direction == direction);
      CHECK(use.memory == memory);
      CHECK(use.count == count);
      CHECK(use.bytes == bytes);
      CHECK(use.ns == ns);
    };
    is(0, CopyDirection::kHostToDevice, CopyMemory::kPinned, 2, 300, 30);
    is(1, CopyDirection::kHostToDevice, CopyMemory::kPageable, 1, 400, 1);
    is(2, CopyDirection::kDeviceToHost, CopyMemory::kPinned, 1, 800, 2);
    is(3, CopyDirection::kDeviceToDevice, CopyMemory::kUnknown, 1, 1600, 3);
  }

  TEST_CASE("kernels of the window by name, longest first") {
    RunBuilder b;
    const TrackId stream = b.Stream();
    b.Kernel(stream, -100, -10, {.name = "warm"});
    b.Kernel(stream, 0, 10, {.name = "relu"});
    b.Kernel(stream, 10, 80, {.name = "gemm"});
    b.Kernel(stream, 80, 90, {.name = "relu"});
    b.Kernel(stream, 100, 110, {.name = "ncclAllReduce"});
    b.Kernel(stream, 290, 310, {.name = "gemm"});  // over the end
    b.Step({.index = 0, .requested = 0, .received = 0, .done = 300});
    const model::Run run = b.Take();
    const auto kernels = Attribute(run).kernels;
    REQUIRE(kernels.size() == 3);
    CHECK(run.Text(kernels[0].name) == "gemm");
    CHECK(kernels[0].count == 1);
    CHECK(kernels[0].ns == 70);
    CHECK(kernels[0].fraction == Approx(0.7));
    CHECK(!kernels[0].communication);
    CHECK(run.Text(kernels[1].name) == "relu");
    CHECK(kernels[1].count == 2);
    CHECK(kernels[1].ns == 20);
    CHECK(run.Text(kernels[2].name) == "ncclAllReduce");
    CHECK(kernels[2].communication);
  }

  TEST_CASE("kernels and copies that overlap for centuries do not overflow") {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    RunBuilder b;
    const TrackId engine = b.CopyEngine();
    for (int i = 0; i < 3; ++i) {
      b.Kernel(b.Stream(), trace::kMinTimeNs, trace::kMaxTimeNs,
               {.enqueued = trace::kMinTimeNs, .name = "gemm"});
      b.Copy(engine, trace::kMinTimeNs, trace::kMaxTimeNs, ~uint64_t{0} / 2);
    }
    b.Kernel(b.Stream(), trace::kMaxTimeNs - 1, trace::kMaxTimeNs, {.name = "relu"});
    b.Step({.index = 0,
            .requested = trace::kMinTimeNs,
            .received = trace::kMinTimeNs,
            .done = trace::kMaxTimeNs});
    const Attribution a = Attribute(b.Take());
    REQUIRE(a.kernels.size() == 2);
    CHECK(a.kernels[0].ns == kMost);
    CHECK(a.kernels[1].ns == 1);
    const CopyUse& copies = a.devices.at(0).copies.at(0);
    CHECK(copies.ns == kMost);
    CHECK(copies.bytes == ~uint64_t{0});
  }

  TEST_CASE("kernels with equal time are ordered by name") {
    for (const bool turned : {false, true}) {
      RunBuilder b;
      const TrackId stream = b.Stream();
      b.Kernel(stream, 0, 10, {.name = turned ? "relu" : "add"});
      b.Kernel(stream, 10, 20, {.name = turned ? "add" : "relu"});
      b.Kernel(stream, 20, 31, {.name = "zero"});
      b.Step({.index = 0, .requested = 0, .received = 0, .done = 300});
      const model::Run run = b.Take();
      const auto kernels = Attribute(run).kernels;
      REQUIRE(kernels.size() == 3);
      CHECK(run.Text(kernels[0].name) == "zero");
      CHECK(run.Text(kernels[1].name) == "add");
      CHECK(run.Text(kernels[2].name) == "relu");
    }
  }

  TEST_CASE("idle device time by what the host did, and queued launches") {
    RunBuilder b;
    const TrackId stream = b.Stream();
    b.Step({.index = 0, .requested = 0, .received = 20, .issued = 50, .done = 90});
    b.Step({.index = 1, .requested = 100, .received = 110, .issued = 140, .done = 200});
    b.Kernel(stream, 60, 90, {.enqueued = 30, .correlation = 1});
    b.Kernel(stream, 150, 160, {.enqueued = 120, .graph = 7, .correlation = 2});
    b.Kernel(stream, 160, 170, {.enqueued = 120, .graph = 7, .correlation = 2});
    const DeviceIdle idle = Attribute(b.Take()).idle;
    CHECK(idle.input_ns == 20 + 10);
    CHECK(idle.launch_ns == 30 + 10 + 30 + 10);  // 20-60 and 110-150
    CHECK(idle.sync_ns == 30);                   // 170-200
    CHECK(idle.other_ns == 10);                  // 90-100
    CHECK(idle.ns == 150);
    CHECK(idle.launches == 2);  // one by itself, one graph
    CHECK(idle.launch_queue_mean == Approx((30 + 30 + 40) / 200.0));
  }
}
