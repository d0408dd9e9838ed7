// What every device holds, and what those hold that compute.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/collectors/device/devices.h"
#include "tests/collectors/device/on_cuda.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/support/paths.h"

namespace stallscope {
namespace {

using device::Kernel;
using device::Kind;
using device::Launch;
using device::MakeDevice;
using test::Get;
using test::Must;
using test::OnDevice;
using test::Put;

Launch AddOne(const OnDevice& x, const OnDevice& one) {
  Launch add;
  add.kernel = Kernel::kAdd;
  add.in = {x.operand, one.operand};
  add.out = {x.operand};
  add.part = {1, 0, 1, 1};
  return add;
}

TEST_SUITE("fast") {
  DEVICE_CASE("a device says what it is") {
    on_each([](device::Device& on) {
      const auto& can = on.capabilities();
      CHECK(can.computes == (can.kind != Kind::kEmulated));
      CHECK((can.name.find("emulated") == 0) == (can.kind == Kind::kEmulated));
      CHECK(can.driver.empty() == (can.kind != Kind::kCuda));
    });
  }

  TEST_CASE("a device whose module is missing says so") {
    setenv("STALLSCOPE_CUDA_MODULE", "/nowhere/stallscope_cuda.so", 1);
    const auto cuda = MakeDevice(Kind::kCuda, {});
    unsetenv("STALLSCOPE_CUDA_MODULE");
    REQUIRE_FALSE(cuda.ok());
    CHECK(cuda.error().kind == ErrorKind::kRun);
    CHECK(cuda.error().Line().find("the CUDA module is missing") != std::string::npos);
  }

  DEVICE_CASE(
      "memory that is not there is an error with the sizes, and comes back with its block") {
    device::Options options;
    options.memory_bytes = 1000;
    on_each(
        [](device::Device& on) {
          auto most = Must(on.Allocate(900));
          const auto more = on.Allocate(101);
          REQUIRE_FALSE(more.ok());
          CHECK(more.error().kind == ErrorKind::kRun);
          CHECK(more.error().Line().find("101 bytes requested, 900 of 1000 in use") !=
                std::string::npos);
          CHECK(on.memory().used == 900);
          most = device::Block();
          CHECK(on.memory().used == 0);
          CHECK(on.memory().peak == 900);
          CHECK(on.Allocate(1000).ok());
          CHECK_FALSE(on.Allocate(SIZE_MAX).ok());
        },
        options);
  }

  DEVICE_CASE("pinned memory and device memory begin on 64 bytes") {
    on_each([](device::Device& on) {
      for (const size_t bytes : {1u, 63u, 64u, 100'000u}) {
        uint8_t* pinned = on.AllocatePinned(bytes);
        REQUIRE(pinned != nullptr);
        CHECK(reinterpret_cast<uintptr_t>(pinned) % 64 == 0);
        on.FreePinned(pinned, bytes);
        CHECK(Must(on.Allocate(bytes)).address() % 64 == 0);
      }
    });
  }

  DEVICE_CASE("a stream runs in order, and an event orders streams") {
    on_each([](device::Device& on) {
      const auto first = Must(on.NewStream("first", trace::TrackKind::kStream));
      const auto second = Must(on.NewStream("second", trace::TrackKind::kStream));
      const OnDevice x(on, 1000);
      const OnDevice one(on, 1000);
      Put(*first, x, std::vector<float>(1000, 0));
      Put(*first, one, std::vector<float>(1000, 1));
      std::shared_ptr<device::Event> before;
      for (int i = 0; i < 50; ++i) {
        auto& stream = i % 2 == 0 ? *first : *second;
        if (before) Must(stream.Wait(before));
        Must(stream.Run(AddOne(x, one), ItemId{1}));
        const auto after = Must(stream.Record());
        if (before) CHECK_FALSE((after->Done() && !before->Done()));
        before = after;
      }
      Must(before->Wait());
      CHECK(before->Done());
      if (on.capabilities().computes) CHECK(Get<float>(*first, x) == std::vector<float>(1000, 50));
      Must(first->Synchronize());
      Must(second->Synchronize());
    });
  }

  DEVICE_CASE("a captured graph does what its launches do one by one") {
    on_each([](device::Device& on) {
      const auto stream = Must(on.NewStream("s", trace::TrackKind::kStream));
      const OnDevice x(on, 10);
      const OnDevice one(on, 10);
      Put(*stream, x, std::vector<float>(10, 0));
      Put(*stream, one, std::vector<float>(10, 1));
      Must(stream->BeginCapture());
      for (int i = 0; i < 3; ++i) Must(stream->Run(AddOne(x, one), ItemId{1}));
      CHECK_FALSE(stream->BeginCapture().ok());
      CHECK_FALSE(stream->Copy({}).ok());
      CHECK_FALSE(stream->Record().ok());
      const auto graph = Must(stream->EndCapture());
      CHECK(graph->launches() == 3);
      CHECK(graph->id() != 0);
      CHECK_FALSE(stream->EndCapture().ok());
      if (on.capabilities().computes) CHECK(Get<float>(*stream, x)[0] == 0);  // nothing has run yet
      Must(stream->Run(graph, ItemId{2}));
      Must(stream->Run(graph, ItemId{3}));
      Must(stream->Run(AddOne(x, one), ItemId{4}));
      if (on.capabilities().computes) CHECK(Get<float>(*stream, x) == std::vector<float>(10, 7));
    });
  }

  DEVICE_CASE("a full queue blocks, and takes all in the end") {
    device::Options options;
    options.queue_depth = 2;
    on_each(
        [](device::Device& on) {
          const auto stream = Must(on.NewStream("s", trace::TrackKind::kStream));
          const OnDevice x(on, 100);
          const OnDevice one(on, 100);
          Put(*stream, x, std::vector<float>(100, 0));
          Put(*stream, one, std::vector<float>(100, 1));
          for (int i = 0; i < 100; ++i) Must(stream->Run(AddOne(x, one), ItemId{1}));
          if (on.capabilities().computes) CHECK(Get<float>(*stream, x)[99] == 100);
        },
        options);
  }

  DEVICE_CASE("everything that was enqueued is done and recorded when a stream goes") {
    const test::ScratchDir dir;
    int runs = 0;
    for (const Kind kind : on_each.kinds) {
      CAPTURE(device::Name(kind));
      const std::string path = dir / (std::to_string(runs++) + ".sst");
      const auto recorder = Must(recorder::Recorder::Start(path, {}));
      device::Options options;
      options.recorder = recorder.get();
      options.emulated.compute_us_per_sample = 300;
      {
        const auto on = test::MakeTestDevice(kind, options);
        uint8_t* pinned = on->AllocatePinned(1000);
        auto stream = Must(on->NewStream("compute 0", trace::TrackKind::kStream));
        const OnDevice x(*on, 250);
        const OnDevice one(*on, 250);
        device::CopyRequest copy;
        copy.device = x.block.address();
        copy.host = pinned;
        copy.bytes = 1000;
        copy.batch = ItemId{7};
        Must(stream->Copy(copy));
        Put(*stream, one, std::vector<float>(250, 1));
        Must(stream->Run(AddOne(x, one), ItemId{7}));
        Must(stream->BeginCapture());
        Must(stream->Run(AddOne(x, one), ItemId{8}));
        Must(stream->Run(AddOne(x, one), ItemId{8}));
        const auto graph = Must(stream->EndCapture());
        Must(stream->Run(graph, ItemId{8}));
        stream.reset();
        on->FreePinned(pinned, 1000);
      }
      CHECK(recorder->Stop().first_error.empty());
      const auto trace = test::ReadTrace(path);
      REQUIRE(trace.rows.copies.size() == 2);
      CHECK(trace.rows.copies[0].bytes == 1000);
      CHECK(trace.rows.copies[0].batch == ItemId{7});
      CHECK(trace.rows.copies[0].memory == trace::CopyMemory::kPinned);
      CHECK(trace.rows.copies[1].memory == trace::CopyMemory::kPageable);
      REQUIRE(trace.rows.kernels.size() == 3);
      int64_t end = 0;
      for (const auto& kernel : trace.rows.kernels) {
        CHECK(kernel.enqueued_ns <= kernel.start_ns);
        CHECK(kernel.start_ns <= kernel.end_ns);
        CHECK(kernel.start_ns >= end);
        end = kernel.end_ns;
        CHECK(trace.strings.at(kernel.name.value) == "add");
        CHECK(trace.track_names.at(kernel.track.value) == "compute 0");
      }
      CHECK(trace.rows.kernels[0].graph == 0);
      CHECK(trace.rows.kernels[1].graph != 0);
      CHECK(trace.rows.kernels[1].correlation == trace.rows.kernels[2].correlation);
      CHECK(trace.rows.kernels[0].correlation != trace.rows.kernels[1].correlation);
      CHECK(trace.rows.kernels[2].batch == ItemId{8});
    }
  }

  COMPUTING_DEVICE_CASE("a device that failed says why, now and later") {
    const auto on = test::MakeTestDevice(on_each.kinds[0]);
    const auto stream = Must(on->NewStream("s", trace::TrackKind::kStream));
    const auto other = Must(on->NewStream("t", trace::TrackKind::kStream));
    const OnDevice logits(*on, 6);
    const OnDevice labels(*on, 2, device::Type::kInt32);
    const OnDevice state(*on, device::kStateValues);
    const OnDevice gradient(*on, 6);
    Put(*stream, logits, std::vector<float>(6, 0));
    Put(*stream, labels, std::vector<int32_t>{1, 3});
    Put(*stream, state, std::vector<float>(device::kStateValues, 0));
    Launch loss;
    loss.kernel = Kernel::kSoftmaxCrossEntropy;
    loss.in = {logits.operand, labels.operand, state.operand};
    loss.out = {gradient.operand};
    loss.ints = {2, 3, 2};
    Must(stream->Run(loss, ItemId{1}));
    const std::string why = "label 3 of sample 1 is out of range (3 classes)";
    const auto now = stream->Synchronize();
    REQUIRE_FALSE(now.ok());
    CHECK(now.error().Line().find(why) != std::string::npos);
    const auto later = other->Run(loss, ItemId{2});
    REQUIRE_FALSE(later.ok());
    CHECK(later.error().Line().find(why) != std::string::npos);
    CHECK_FALSE(other->Record().ok());
  }

  COMPUTING_DEVICE_CASE("operands that do not fit are refused before they are enqueued") {
    const auto on = test::MakeTestDevice(on_each.kinds[0]);
    const auto stream = Must(on->NewStream("s", trace::TrackKind::kStream));
    const OnDevice small(*on, 3);
    const OnDevice large(*on, 4);
    Launch add;
    add.kernel = Kernel::kAdd;
    add.in = {small.operand, large.operand};
    add.out = {large.operand};
    const auto wrong = stream->Run(add, ItemId{1});
    REQUIRE_FALSE(wrong.ok());
    CHECK(wrong.error().Line().find("add: operands that do not match the kernel") == 0);
    add.in = {large.operand};
    CHECK_FALSE(stream->Run(add, ItemId{1}).ok());
    add.in = {large.operand, large.operand};
    CHECK(stream->Run(add, ItemId{1}).ok());
    Must(stream->Synchronize());
  }
}

}  // namespace
}  // namespace stallscope
