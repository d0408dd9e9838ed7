#include "analyzer/attribution/partition.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/attribution/window.h"
#include "tests/analyzer/attribution/random_runs.h"
#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::Random;
using test::RunBuilder;

namespace {

Partition PartitionOf(const model::Run& run) {
  const auto intervals = model::StepIntervals(run);
  return PartitionWindow(run, ChooseWindow(run, intervals), intervals);
}

// METHOD.md's table, asked at one instant.
bool Holds(int64_t start, int64_t end, int64_t t) { return start <= t && t < end; }

Category CategoryAt(const model::Run& run, uint32_t rank, uint32_t device, bool device_tracks,
                    int64_t t) {
  std::array<bool, kCategories> active{};
  const auto on = [&](Category category, bool is) { active[At(category)] |= is; };
  const auto here = [&](TrackId track) {
    return run.tracks[track.value].rank == rank && run.tracks[track.value].info.device == device;
  };
  for (const trace::Kernel& k : run.rows.kernels) {
    if (!here(k.track)) continue;
    const bool moves = run.Text(k.name).find("nccl") != std::string_view::npos;
    on(moves ? Category::kCommunication : Category::kCompute, Holds(k.start_ns, k.end_ns, t));
    if (k.enqueued_ns == 0) continue;
    on(moves ? Category::kCommunication : Category::kLaunch, Holds(k.enqueued_ns, k.start_ns, t));
  }
  for (const trace::Copy& c : run.rows.copies) {
    if (here(c.track)) on(Category::kTransfer, Holds(c.start_ns, c.end_ns, t));
  }
  for (size_t i = 0; i < run.rows.steps.size(); ++i) {
    const trace::Step& s = run.rows.steps[i];
    if (run.RankOfStep(i) != rank) continue;
    on(Category::kInputStall, Holds(s.requested_ns, s.received_ns, t));
    if (device_tracks) {
      on(Category::kLaunch, Holds(s.received_ns, s.issued_ns, t));
      on(Category::kSync, Holds(s.issued_ns, s.device_done_ns, t));
    } else {
      on(Category::kCompute, Holds(s.received_ns, s.device_done_ns, t));
    }
  }
  const auto first = std::find(active.begin(), active.end(), true);
  return first == active.end() ? Category::kOther : static_cast<Category>(first - active.begin());
}

// The mean of the devices as METHOD.md words it.
PerCategory<int64_t> Mean(const std::vector<PerCategory<int64_t>>& devices) {
  PerCategory<int64_t> mean{};
  const auto n = static_cast<int64_t>(devices.size());
  int64_t whole = 0;
  for (const int64_t ns : devices[0]) whole += ns;
  int64_t given = 0;
  PerCategory<int64_t> sum{};
  for (size_t c = 0; c < kCategories; ++c) {
    for (const auto& device : devices) sum[c] += device[c];
    mean[c] = sum[c] / n;
    given += mean[c];
  }
  for (size_t c = 0; c < kCategories && given < whole; ++c) {
    if (sum[c] % n == 0) continue;
    ++mean[c];
    ++given;
  }
  return mean;
}

void ComparePainted(const model::Run& run) {
  const Window window = ChooseWindow(run, model::StepIntervals(run));
  const Partition partition = PartitionOf(run);
  const auto has_devices = [&](uint32_t rank) {
    return std::any_of(run.tracks.begin(), run.tracks.end(), [&](const model::Track& track) {
      return track.rank == rank && track.info.kind != trace::TrackKind::kThread;
    });
  };
  std::vector<PerCategory<int64_t>> devices;
  std::map<uint32_t, std::vector<std::vector<Category>>> painted;  // by rank
  for (const DeviceTimeline& timeline : partition.timelines) {
    PerCategory<int64_t> ns{};
    std::vector<Category> paint;
    size_t slice = 0;
    const bool device_tracks = has_devices(timeline.rank);
    for (int64_t t = window.start_ns; t < window.end_ns; ++t) {
      const Category category = CategoryAt(run, timeline.rank, timeline.device, device_tracks, t);
      ++ns[At(category)];
      paint.push_back(category);
      if (timeline.slices[slice].end_ns <= t) ++slice;
      REQUIRE(Holds(timeline.slices[slice].start_ns, timeline.slices[slice].end_ns, t));
      REQUIRE(timeline.slices[slice].category == category);
    }
    devices.push_back(ns);
    painted[timeline.rank].push_back(std::move(paint));
  }
  REQUIRE(partition.ns == Mean(devices));
  if (run.rows.steps.empty()) return;
  REQUIRE(partition.steps.size() == window.rows);
  for (const StepShare& step : partition.steps) {
    REQUIRE(painted.count(step.rank) == 1);
    std::vector<PerCategory<int64_t>> shares;
    for (const auto& paint : painted[step.rank]) {
      PerCategory<int64_t> ns{};
      for (int64_t t = step.start_ns; t < step.end_ns; ++t) {
        ++ns[At(paint[static_cast<size_t>(t - window.start_ns)])];
      }
      shares.push_back(ns);
    }
    REQUIRE(step.ns == Mean(shares));
  }
}

// From 0 to 100 the two categories are active, whatever the step around it says.
Category Winner(Category a, Category b) {
  Activity activity;
  for (const Category category : {a, b}) activity[At(category)].push_back({0, 100});
  const std::vector<Slice> slices = Sweep(std::move(activity), {0, 100});
  REQUIRE(slices.size() == 1);
  return slices[0].category;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("partition: priority of active categories as in METHOD.md") {
    const std::vector<Category> order = {
        Category::kCompute,    Category::kCommunication, Category::kTransfer, Category::kLaunch,
        Category::kInputStall, Category::kSync,          Category::kOther};
    for (size_t a = 0; a < order.size(); ++a) {
      for (size_t b = a; b < order.size(); ++b) {
        CHECK(Winner(order[a], order[b]) == order[a]);
        CHECK(Winner(order[b], order[a]) == order[a]);
      }
    }
  }

  TEST_CASE(
      "partition: a collective that a profiler saw enqueued waits for its turn, not its peers") {
    for (const bool imported : {false, true}) {
      RunBuilder b;
      const TrackId stream = b.Stream();
      const TrackId copies = b.CopyEngine();
      if (imported) b.run.info.imported_from = "kineto";
      b.Step({.index = 0, .requested = 0, .received = 0, .done = 200});
      b.Kernel(stream, 150, 200, {.enqueued = 20, .name = "ncclDevKernel_AllReduce"});
      b.Copy(copies, 40, 70);
      const Partition partition = PartitionOf(b.Take());
      CHECK(partition.ns[At(Category::kCommunication)] == (imported ? 50 : 180));
      CHECK(partition.ns[At(Category::kTransfer)] == (imported ? 30 : 0));
      CHECK(partition.ns[At(Category::kLaunch)] == (imported ? 100 : 0));
    }
  }

  TEST_CASE("partition: categories of device events and host steps") {
    RunBuilder b;
    const TrackId stream = b.Stream();
    const TrackId copies = b.CopyEngine();
    b.Step({.index = 0, .requested = 1000, .received = 1100, .issued = 1200, .done = 1500});
    b.Step({.index = 1, .requested = 1600, .received = 1650, .done = 1700});
    b.Copy(copies, 1090, 1150);                                           // from within the stall
    b.Kernel(stream, 1230, 1300, {.enqueued = 1190});                     // launch goes on to 1230
    b.Kernel(stream, 1320, 1350, {.enqueued = 1310, .name = "ncclSum"});  // waits for its peers
    b.Kernel(stream, 1340, 1360);
    const Partition partition = PartitionOf(b.Take());
    CHECK(partition.ns[At(Category::kCompute)] == 70 + 20);
    CHECK(partition.ns[At(Category::kCommunication)] == 30);  // 1310-1340
    CHECK(partition.ns[At(Category::kTransfer)] == 60);
    CHECK(partition.ns[At(Category::kLaunch)] == 50 + 30);      // 1150-1200, 1200-1230
    CHECK(partition.ns[At(Category::kInputStall)] == 90 + 50);  // 1000-1090, 1600-1650
    CHECK(partition.ns[At(Category::kSync)] == 10 + 140 + 50);  // 1300-1310, 1360-1500, 1650-
    CHECK(partition.ns[At(Category::kOther)] == 100);           // 1500-1600
    CHECK(partition.limits.empty());
  }

  TEST_CASE("partition: streams and copy engines of one device together") {
    RunBuilder b;
    const TrackId one = b.Stream();
    const TrackId two = b.Stream();
    const TrackId copies = b.CopyEngine();
    b.Step({.index = 0, .requested = 0, .received = 0, .done = 100});
    b.Kernel(one, 10, 50);
    b.Kernel(two, 40, 60);  // overlaps
    b.Copy(copies, 55, 70);
    const Partition partition = PartitionOf(b.Take());
    REQUIRE(partition.timelines.size() == 1);
    CHECK(partition.ns[At(Category::kCompute)] == 50);
    CHECK(partition.ns[At(Category::kTransfer)] == 10);
    CHECK(partition.ns[At(Category::kSync)] == 40);
  }

  TEST_CASE("partition: several devices, and the rounding remainder") {
    RunBuilder b;
    const TrackId a = b.Stream(0);
    const TrackId c = b.Stream(3);
    const TrackId d = b.Stream(1);
    b.Step({.index = 0, .requested = 0, .received = 10, .done = 100});
    b.Kernel(a, 10, 100);  // compute 90
    b.Kernel(c, 10, 40);   // compute 30, transfer 1
    b.Copy(c, 40, 41);
    b.Kernel(d, 10, 30);  // compute 20, transfer 1
    b.Copy(d, 40, 41);
    const Partition partition = PartitionOf(b.Take());
    REQUIRE(partition.timelines.size() == 3);
    CHECK(partition.timelines[0].device == 0);
    CHECK(partition.timelines[1].device == 1);
    CHECK(partition.timelines[2].device == 3);
    // Sums: compute 140, transfer 2, input_stall 30, sync 59 + 69 = 128. The mean is rounded down
    // to 46, 0, 10, 42; the 2 that are left go to compute and transfer, which lost 2/3 each.
    CHECK(partition.ns[At(Category::kCompute)] == 47);
    CHECK(partition.ns[At(Category::kTransfer)] == 1);
    CHECK(partition.ns[At(Category::kInputStall)] == 10);
    CHECK(partition.ns[At(Category::kSync)] == 42);
  }

  TEST_CASE("partition: without a device track the trainer computes on the host") {
    RunBuilder b;
    b.Step({.index = 0, .requested = 0, .received = 30, .issued = 35, .done = 80});
    b.Step({.index = 1, .requested = 100, .received = 110, .issued = 115, .done = 200});
    const Partition partition = PartitionOf(b.Take());
    CHECK(partition.ns[At(Category::kCompute)] == 140);
    CHECK(partition.ns[At(Category::kInputStall)] == 40);
    CHECK(partition.ns[At(Category::kOther)] == 20);
    CHECK(!partition.known[At(Category::kTransfer)]);
    CHECK(!partition.known[At(Category::kLaunch)]);
    CHECK(partition.known[At(Category::kCompute)]);
    CHECK(!partition.limits.empty());
  }

  TEST_CASE("partition: without a device track, whether foreign replicas communicate is unknown") {
    const auto known = [](auto change) {
      RunBuilder b;
      b.Step({.index = 0, .requested = 0, .received = 30, .issued = 35, .done = 80});
      change(b);
      return PartitionOf(b.Take()).known[At(Category::kCommunication)];
    };
    const auto xplane = [](RunBuilder& b) { b.run.info.imported_from = "xplane"; };
    CHECK(known([](RunBuilder&) {}));
    CHECK_FALSE(known(xplane));
    CHECK_FALSE(known([](RunBuilder& b) { b.run.info.job.command = {"python", "train.py"}; }));
    CHECK(known([&](RunBuilder& b) {
      xplane(b);
      b.run.info.world_size = 1;
    }));
    CHECK(known([&](RunBuilder& b) {
      xplane(b);
      b.Kernel(b.Stream(), 40, 70);
    }));
  }

  TEST_CASE("partition: a rank without a device track beside one that has them") {
    RunBuilder b;
    b.Kernel(b.Stream(0, 0), 20, 60);
    b.Step({.index = 0, .requested = 0, .received = 20, .done = 100});
    b.Step({.index = 0, .requested = 0, .received = 40, .done = 100, .rank = 1});
    const Partition partition = PartitionOf(b.Take());
    REQUIRE(partition.timelines.size() == 2);
    REQUIRE(partition.steps.size() == 2);
    CHECK(partition.steps[0].ns[At(Category::kCompute)] == 40);
    CHECK(partition.steps[0].ns[At(Category::kSync)] == 40);
    CHECK(partition.steps[1].ns[At(Category::kCompute)] == 60);
    CHECK(partition.steps[1].ns[At(Category::kInputStall)] == 40);
    CHECK(partition.ns[At(Category::kCompute)] == 50);
  }

  TEST_CASE("partition: without steps, the whole recording and no stall") {
    RunBuilder b;
    b.run.info.start_ns = 100;
    b.run.info.end_ns = 300;
    const TrackId stream = b.Stream();
    b.Kernel(stream, 50, 150);
    b.Copy(stream, 140, 200);
    const model::Run run = b.Take();
    const Partition partition = PartitionOf(run);
    CHECK(partition.ns[At(Category::kCompute)] == 50);
    CHECK(partition.ns[At(Category::kTransfer)] == 50);
    CHECK(partition.ns[At(Category::kOther)] == 100);
    CHECK(!partition.known[At(Category::kInputStall)]);
    REQUIRE(partition.steps.size() == 1);
    CHECK(partition.steps[0].ns == partition.ns);
    const auto says_so = [](const std::string& limit) {
      return limit.find("no steps") != std::string::npos;
    };
    CHECK(std::any_of(partition.limits.begin(), partition.limits.end(), says_so));
  }

  TEST_CASE("partition: input work, copies and requests that overlap compute cost nothing") {
    // A batch is prefetched to the device while a captured graph still computes the step before.
    RunBuilder b;
    const TrackId stream = b.Stream();
    const TrackId copies = b.CopyEngine();
    b.Step({.index = 0, .requested = 0, .received = 10, .issued = 20, .done = 120});
    b.Step({.index = 1, .requested = 30, .received = 90, .issued = 100, .done = 220});
    b.Kernel(stream, 20, 70, {.enqueued = 15, .graph = 1, .correlation = 1});
    b.Kernel(stream, 70, 120, {.enqueued = 15, .graph = 1, .correlation = 1});
    b.Copy(copies, 40, 90);
    b.Kernel(stream, 120, 220, {.enqueued = 95, .graph = 1, .correlation = 2});
    const Partition partition = PartitionOf(b.Take());
    CHECK(partition.ns[At(Category::kCompute)] == 200);
    CHECK(partition.ns[At(Category::kInputStall)] == 10);
    CHECK(partition.ns[At(Category::kLaunch)] == 10);
    CHECK(partition.ns[At(Category::kTransfer)] == 0);
    // Work counts in the step in which it runs.
    REQUIRE(partition.steps.size() == 2);
    CHECK(partition.steps[0].ns[At(Category::kCompute)] == 10);
    CHECK(partition.steps[1].ns[At(Category::kCompute)] == 190);
  }

  TEST_CASE("partition: a kernel that moves data between devices is never compute") {
    for (const char* const name :
         {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclKernel_AllGather", "rcclGenericKernel",
          "all_reduce", "all-gather.3", "ReduceScatter", "all-to-all.1", "collective-permute.2"}) {
      CHECK_MESSAGE(IsCommunication(name), name);
    }
    for (const char* const name : {"", "reduce_kernel", "gather", "sgemm_128x64_nn", "allocate",
                                   "ampere_fp16_s16816gemm", "permute"}) {
      CHECK_MESSAGE(!IsCommunication(name), name);
    }
  }

  TEST_CASE("partition: every instant of 2,000 small random runs by brute force") {
    Random random(10);
    for (int i = 0; i < 2000; ++i) {
      ComparePainted(
          test::RandomRun(random, {.horizon_ns = 150, .sloppy = i % 3 == 0, .threads = false}));
    }
  }
}
