// The timeline of an emulated device, to the nanosecond: nothing here measures time.
#include <doctest/doctest.h>

#include <vector>

#include "collectors/device/device_state.h"
#include "tests/collectors/device/devices.h"

namespace stallscope {
namespace {

using device::Kernel;
using device::Kind;
using device::Launch;
using test::Must;
using test::TestClock;

struct Emulated {
  TestClock clock;
  std::unique_ptr<device::Device> on;
  Ticks start = 0;

  explicit Emulated(const device::EmulatedTiming& timing, Ticks late = 0, size_t depth = 1024)
      : clock(late) {
    device::Options options;
    options.emulated = timing;
    options.clock = &clock;
    options.queue_depth = depth;
    on = test::MakeTestDevice(Kind::kEmulated, options);
    start = clock.Now();
  }
  std::unique_ptr<device::Stream> Stream() {
    return Must(on->NewStream("s", trace::TrackKind::kStream));
  }
  // When what the stream has is done, from the start.
  Ticks Done(device::Stream& stream) { return Must(stream.Record())->time() - start; }
};

Launch Part(int64_t samples, uint64_t from, uint64_t to, uint64_t of) {
  Launch launch;
  launch.kernel = Kernel::kGemm;
  launch.part = {samples, from, to, of};
  return launch;
}

device::CopyRequest Bytes(size_t bytes, void* host) {
  device::CopyRequest copy;
  copy.bytes = bytes;
  copy.host = host;
  return copy;
}

TEST_SUITE("fast") {
  TEST_CASE("the parts of a step add up to what it takes, exactly") {
    Emulated device({.compute_us_per_batch = 100, .compute_us_per_sample = 3.001});
    const auto stream = device.Stream();
    for (uint64_t part = 0; part < 7; ++part) {
      Must(stream->Run(Part(10, part, part + 1, 7), ItemId{1}));
    }
    CHECK(device.Done(*stream) == 130'010);
    CHECK(device.clock.Now() == device.start);  // the host has not waited
    Must(stream->Synchronize());
    CHECK(device.clock.Now() == device.start + 130'010);
  }

  TEST_CASE("an op of a map takes time for the bytes that it reads and writes") {
    Emulated device({.compute_us_per_batch = 100, .op_gbps = 2});
    const auto stream = device.Stream();
    Launch op;
    op.kernel = Kernel::kImageOp;
    op.image_op = "normalize";
    op.in = {{0, 1'000, device::Type::kUint8}};
    op.out = {{0, 1'000, device::Type::kFloat32}};
    Must(stream->Run(op, ItemId{1}));
    CHECK(device.Done(*stream) == 2'500);
    // A cast within a step is a part of the step's figure.
    Launch cast = Part(1, 0, 1, 1);
    cast.kernel = Kernel::kCast;
    cast.in = op.in;
    cast.out = op.out;
    Must(stream->Run(cast, ItemId{1}));
    CHECK(device.Done(*stream) == 102'500);
  }

  TEST_CASE("a copy takes the latency and its bytes, a pageable one is slower and blocks") {
    Emulated device({.gbps_pinned = 10, .gbps_pageable = 2, .latency_us = 5});
    const auto stream = device.Stream();
    uint8_t* pinned = device.on->AllocatePinned(10'000);
    Must(stream->Copy(Bytes(10'000, pinned)));
    CHECK(device.Done(*stream) == 6'000);
    CHECK(device.clock.Now() == device.start);
    std::vector<uint8_t> pageable(10'000);
    Must(stream->Copy(Bytes(10'000, pageable.data())));
    CHECK(device.Done(*stream) == 16'000);
    CHECK(device.clock.Now() == device.start + 16'000);
    device.on->FreePinned(pinned, 10'000);
  }

  TEST_CASE("what one device of a run has pinned is pinned for all of them, and only that") {
    const auto shared = std::make_shared<device::PinnedMemory>();
    device::Options options;
    options.pinned = shared;
    test::TestClock clock;
    options.clock = &clock;
    options.emulated = {.gbps_pinned = 10, .gbps_pageable = 2, .latency_us = 5};
    const auto owner = test::MakeTestDevice(device::Kind::kEmulated, options);
    options.index = 1;
    const auto other = test::MakeTestDevice(device::Kind::kEmulated, options);
    const auto stream = Must(other->NewStream("copy", trace::TrackKind::kCopyEngine));
    const auto time_of = [&](uint8_t* host) {
      const Ticks start = clock.Now();
      Must(stream->Copy(Bytes(10'000, host)));
      Must(stream->Synchronize());
      return clock.Now() - start;
    };
    uint8_t* pinned = owner->AllocatePinned(10'000);
    CHECK(time_of(pinned) == 6'000);
    std::vector<uint8_t> pageable(10'000);
    CHECK(time_of(pageable.data()) == 10'000);
    owner->FreePinned(pinned, 10'000);
    // Devices of another run know nothing of it.
    options.pinned = nullptr;
    const auto alone = test::MakeTestDevice(device::Kind::kEmulated, options);
    uint8_t* foreign = alone->AllocatePinned(10'000);
    CHECK(time_of(foreign) == 10'000);
    alone->FreePinned(foreign, 10'000);
  }

  TEST_CASE("copy streams share an engine, each direction has one, and kernels run beside them") {
    Emulated device({.compute_us_per_sample = 50, .gbps_pinned = 1, .latency_us = 0});
    const auto first = device.Stream();
    const auto second = device.Stream();
    const auto back = device.Stream();
    const auto compute = device.Stream();
    uint8_t* pinned = device.on->AllocatePinned(1000);
    Must(first->Copy(Bytes(1000, pinned)));
    Must(second->Copy(Bytes(1000, pinned)));
    auto to_host = Bytes(1000, pinned);
    to_host.direction = trace::CopyDirection::kDeviceToHost;
    Must(back->Copy(to_host));
    Must(compute->Run(Part(1, 0, 1, 1), ItemId{1}));
    CHECK(device.Done(*first) == 1000);
    CHECK(device.Done(*second) == 2000);
    CHECK(device.Done(*back) == 1000);
    CHECK(device.Done(*compute) == 50'000);
    device.on->FreePinned(pinned, 1000);
  }

  TEST_CASE("an event orders two streams on the timeline") {
    Emulated device({.compute_us_per_sample = 1, .gbps_pinned = 1, .latency_us = 0});
    const auto copies = device.Stream();
    const auto compute = device.Stream();
    uint8_t* pinned = device.on->AllocatePinned(7000);
    Must(copies->Copy(Bytes(7000, pinned)));
    Must(compute->Wait(Must(copies->Record())));
    Must(compute->Run(Part(2, 0, 1, 1), ItemId{1}));
    CHECK(device.Done(*compute) == 9'000);
    device.on->FreePinned(pinned, 7000);
  }

  TEST_CASE("launches cost the host their time, a graph that of one launch") {
    Emulated device({.launch_us = 5});
    const auto stream = device.Stream();
    Must(stream->BeginCapture());
    for (int i = 0; i < 100; ++i) Must(stream->Run(Part(1, 0, 1, 1), ItemId{1}));
    const auto graph = Must(stream->EndCapture());
    CHECK(device.clock.Now() == device.start);
    for (int i = 0; i < 100; ++i) Must(stream->Run(Part(1, 0, 1, 1), ItemId{1}));
    CHECK(device.clock.Now() == device.start + 500'000);
    Must(stream->Run(graph, ItemId{1}));
    CHECK(device.clock.Now() == device.start + 505'000);
  }

  TEST_CASE("late wakeups do not add up") {
    // Sleeps that are 60 us too long, launches of 5 us: 12 of them pass in one sleep.
    Emulated device({.launch_us = 5}, 60'000);
    const auto stream = device.Stream();
    for (int i = 0; i < 10'000; ++i) Must(stream->Run(Part(1, 0, 1, 1), ItemId{1}));
    CHECK(device.Done(*stream) == 50'000'000);
    CHECK(device.clock.Now() - device.start <= 50'000'000 + 60'000);
  }

  TEST_CASE("a launch waits for room in a full queue") {
    Emulated device({.compute_us_per_sample = 10}, 0, 3);
    const auto stream = device.Stream();
    for (int i = 0; i < 3; ++i) Must(stream->Run(Part(1, 0, 1, 1), ItemId{1}));
    CHECK(device.clock.Now() == device.start);
    Must(stream->Run(Part(1, 0, 1, 1), ItemId{1}));
    CHECK(device.clock.Now() == device.start + 10'000);
    CHECK(device.Done(*stream) == 40'000);
  }

  TEST_CASE("replicas exchange gradients over the link") {
    Emulated device({.gbps_pinned = 1, .latency_us = 2});
    const auto stream = device.Stream();
    Launch reduce;
    reduce.kernel = Kernel::kAllReduce;
    reduce.in = {{1, 1000}, {2, 1000}};
    reduce.out = {{3, 1000}};
    Must(stream->Run(reduce, ItemId{1}));
    CHECK(device.Done(*stream) == 2'000 + 4'000);
  }
}

}  // namespace
}  // namespace stallscope
