#include <doctest/doctest.h>

#include "tests/analyzer/importers/xplane/read.h"
#include "tests/support/made_space.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::MadePlane;

TEST_SUITE("fast") {
  TEST_CASE("a stream's events are kernels, copies and memsets with their launches") {
    MadePlane host("/host:CPU");
    host.Line(1, "python", 1'000,
              host.Event("cuLaunchKernel", 5'000, 2'000, host.Number("correlation_id", 7)) +
                  host.Event("cuMemcpyHtoDAsync", 9'000, 1'000, host.Number("correlation_id", 8)));
    MadePlane gpu("/device:GPU:3");
    gpu.Line(
        14, "Stream #14(MemcpyH2D,Compute)", 2'000,
        gpu.Event("relu_kernel", 10'000, 5'000, gpu.Number("correlation_id", 7)) +
            gpu.Event("MemcpyH2D", 20'000, 3'999,
                      gpu.Number("correlation_id", 8) +
                          gpu.Text("memcpy_details",
                                   "kind_src:pinned kind_dst:device size:4096 dest:0 async:1")) +
            gpu.Event("Memset", 30'000, 1'000));
    const auto run = test::ReadSpace(host.Bytes() + gpu.Bytes());
    REQUIRE(run.ok());
    const auto& rows = run.value().rows;
    REQUIRE(rows.kernels.size() == 1);
    CHECK(rows.kernels[0].start_ns == 2'010);
    CHECK(rows.kernels[0].end_ns == 2'015);
    CHECK(rows.kernels[0].enqueued_ns == 1'005);
    CHECK(run.value().Text(rows.kernels[0].name) == "relu_kernel");
    REQUIRE(rows.copies.size() == 1);
    CHECK(rows.copies[0].bytes == 4'096);
    CHECK(rows.copies[0].end_ns == 2'023);  // the picoseconds are cut off
    CHECK(rows.copies[0].memory == trace::CopyMemory::kPinned);
    CHECK(rows.copies[0].enqueued_ns == 1'009);
    const model::Track& stream = run.value().tracks[rows.kernels[0].track.value];
    CHECK(stream.info.device == 3);
    REQUIRE(stream.spans.size() == 1);
    CHECK(run.value().ClassOf(stream, 0).activity == trace::SpanActivity::kMemset);
    CHECK(run.value().info.device.kind == "gpu");
  }

  TEST_CASE("derived lines do not count again") {
    MadePlane gpu("/device:GPU:0");
    gpu.Line(1, "Stream #1(Compute)", 0, gpu.Event("kernel", 0, 4'000));
    for (const char* derived : {"XLA Modules", "XLA Ops", "TensorFlow Ops", "Framework Ops",
                                "TensorFlow Name Scope", "Source code"}) {
      gpu.Line(2, derived, 0, gpu.Event("kernel", 0, 4'000));
    }
    const auto run = test::ReadSpace(gpu.Bytes());
    REQUIRE(run.ok());
    CHECK(run.value().rows.kernels.size() == 1);
    CHECK(run.value().tracks.size() == 1);
  }

  TEST_CASE("without streams, XLA's ops are the device's work, each instant once") {
    MadePlane tpu("/device:TPU:1");
    tpu.ShowAs("%while.1 = (s32[]) while(...)", "while.1");
    tpu.Line(1, "Steps", 0, tpu.Event("0", 0, 20'000) + tpu.Event("1", 20'000, 20'000));
    tpu.Line(2, "XLA Modules", 0, tpu.Event("jit_step", 0, 20'000));
    tpu.Line(3, "XLA Ops", 0,
             tpu.Event("%while.1 = (s32[]) while(...)", 1'000, 10'000) +
                 tpu.Event("fusion.1", 2'000, 3'000) + tpu.Event("fusion.2", 5'000, 6'000) +
                 tpu.Event("copy.1", 12'000, 1'000));
    const auto run = test::ReadSpace(tpu.Bytes());
    REQUIRE(run.ok());
    int64_t sum = 0;
    for (const auto& kernel : run.value().rows.kernels) sum += kernel.end_ns - kernel.start_ns;
    CHECK(sum == 11);
    CHECK(run.value().Text(run.value().rows.kernels[0].name) == "while.1");
    REQUIRE(run.value().rows.steps.size() == 2);
    CHECK(run.value().rows.steps[1].requested_ns == 20);
    CHECK(run.value().info.device.kind == "tpu");
  }

  TEST_CASE("unused devices are left out") {
    MadePlane used("/device:GPU:1");
    used.Line(1, "Stream #1(Compute)", 0, used.Event("kernel", 0, 4'000));
    MadePlane unused("/device:GPU:0");
    unused.PlaneNumber("memory_size", 1 << 30);
    MadePlane listed("/device:GPU:2");
    listed.Line(1, "Stream #1(Compute)", 0, "");
    const auto run = test::ReadSpace(unused.Bytes() + used.Bytes() + listed.Bytes());
    REQUIRE(run.ok());
    REQUIRE(run.value().tracks.size() == 1);
    CHECK(run.value().tracks[0].info.device == 1);
  }

  TEST_CASE("times since 1970 stay, unless a file has both kinds") {
    constexpr uint64_t kStart = 1'700'000'000'000'000'000;
    MadePlane epoch("/device:GPU:0");
    epoch.Line(1, "Stream #1(Compute)", kStart + 500, epoch.Event("kernel", 2'000, 1'000));
    const auto alone = test::ReadSpace(epoch.Bytes());
    REQUIRE(alone.ok());
    CHECK(alone.value().rows.kernels[0].start_ns == static_cast<int64_t>(kStart + 502));
    CHECK(alone.value().info.start_realtime_ns == static_cast<int64_t>(kStart + 502));

    MadePlane relative("/host:CPU");
    relative.Line(1, "python", 100, relative.Event("call", 0, 1'000));
    MadePlane environment("Task Environment");
    environment.PlaneNumber("profile_start_time", kStart);
    const auto mixed = test::ReadSpace(relative.Bytes() + epoch.Bytes() + environment.Bytes());
    REQUIRE(mixed.ok());
    CHECK(mixed.value().rows.kernels[0].start_ns == 502);
    CHECK(mixed.value().quality.warnings.size() == 1);
  }
}
