#include "collectors/device/cuda/record_sorter.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/collectors/device/cuda/kept_tracks.h"

namespace stallscope {
namespace {

using namespace device::cuda;
using Kept = test::KeptTracks;

// A tick is a nanosecond, and the collector's clock began 1,000 ns before ours.
struct Sorter {
  Kept kept;
  IssuedWork work;
  ClockAlignment clock{1};
  RecordSorter sorter{kept, work, clock};
  std::shared_ptr<device::DeviceTrack> stream = kept.New({.name = "compute"});

  Sorter() {
    clock.Add({2'000, 1'000, 1'000});
    clock.Add({3'000, 2'000, 2'000});
  }
  uint64_t Issue(uint64_t batch, Ticks enqueued, uint64_t graph = 0) {
    return work.Add({stream, ItemId{batch}, graph, enqueued, trace::CopyMemory::kUnknown});
  }
  static DeviceRecord Kernel(uint32_t correlation, int64_t start, int64_t end,
                             const std::string& name = "k") {
    DeviceRecord record;
    record.correlation = correlation;
    record.start_ns = start;
    record.end_ns = end;
    record.name = name;
    return record;
  }
};

TEST_SUITE("fast") {
  TEST_CASE("a record finds its work, whichever of the two comes first") {
    Sorter s;
    const auto first = s.Issue(7, 1'100);
    s.sorter.Link(40, first);
    s.sorter.Add(Sorter::Kernel(40, 2'200, 2'300));
    s.sorter.Add(Sorter::Kernel(41, 2'400, 2'500));
    s.sorter.Write(false);
    REQUIRE(s.kept.rows.size() == 1);
    CHECK(s.kept.rows[0].track == "compute");
    CHECK(s.kept.rows[0].batch == ItemId{7});
    CHECK(s.kept.rows[0].correlation == first);
    CHECK(s.kept.rows[0].times.enqueued == 1'100);
    CHECK(s.kept.rows[0].times.start == 1'200);
    CHECK(s.kept.rows[0].times.end == 1'300);
    s.sorter.Link(41, s.Issue(8, 1'150));
    s.sorter.Write(false);
    REQUIRE(s.kept.rows.size() == 2);
    CHECK(s.kept.rows[1].batch == ItemId{8});
  }

  TEST_CASE("the kernels of a graph share its work, and come in the order in which they ended") {
    Sorter s;
    s.sorter.Link(5, s.Issue(3, 1'000, 12));
    s.sorter.Add(Sorter::Kernel(5, 2'600, 2'700, "second"));
    s.sorter.Add(Sorter::Kernel(5, 2'400, 2'500, "first"));
    s.sorter.Write(false);
    REQUIRE(s.kept.rows.size() == 2);
    CHECK(s.kept.rows[0].what == "first");
    CHECK(s.kept.rows[1].what == "second");
    CHECK(s.kept.rows[0].graph == 12);
    CHECK(s.kept.rows[0].correlation == s.kept.rows[1].correlation);
  }

  TEST_CASE("work that nobody enqueued here has a track of its own in the end") {
    Sorter s;
    s.sorter.Add(Sorter::Kernel(9, 2'400, 2'500));
    s.sorter.Write(false);
    CHECK(s.kept.rows.empty());
    s.sorter.Write(true);
    REQUIRE(s.kept.rows.size() == 1);
    CHECK(s.kept.rows[0].track == "device 0 other work");
    CHECK_FALSE(s.kept.rows[0].batch.known());
    CHECK(s.kept.rows[0].times.enqueued == 1'400);
  }

  TEST_CASE("nothing begins before it was enqueued, or ends before it began") {
    Sorter s;
    s.sorter.Link(1, s.Issue(1, 1'500));
    s.sorter.Add(Sorter::Kernel(1, 2'400, 2'450));  // 100 ns too early
    s.sorter.Write(false);
    REQUIRE(s.kept.rows.size() == 1);
    CHECK(s.kept.rows[0].times.start == 1'500);
    CHECK(s.kept.rows[0].times.end == 1'500);
  }

  TEST_CASE("copies say their memory, and memsets are spans of the stream") {
    Sorter s;
    s.sorter.Link(1, s.Issue(1, 1'000));
    DeviceRecord copy = Sorter::Kernel(1, 2'100, 2'200);
    copy.kind = DeviceRecord::Kind::kCopy;
    copy.bytes = 640;
    copy.memory = trace::CopyMemory::kPinned;
    s.sorter.Add(copy);
    DeviceRecord zero = Sorter::Kernel(1, 2'300, 2'400);
    zero.kind = DeviceRecord::Kind::kMemset;
    s.sorter.Add(zero);
    s.sorter.Write(false);
    REQUIRE(s.kept.rows.size() == 2);
    CHECK(s.kept.rows[0].what == "copy 640 p");
    CHECK(s.kept.rows[1].what == "5 memset");
    CHECK(s.kept.rows[1].track == "compute");
  }

  TEST_CASE("calls go to a track of their thread") {
    Sorter s;
    using trace::SpanActivity;
    s.sorter.AddSpan("calls", 77, SpanActivity::kRuntime, "cudaLaunchKernel", 2'300, 2'350);
    s.sorter.AddSpan("calls", 77, SpanActivity::kRuntime, "cuLaunchKernel", 2'310, 2'340);
    s.sorter.AddSpan("calls", 78, SpanActivity::kRuntime, "cudaFree", 2'310, 2'340);
    s.sorter.AddSpan("calls", 78, SpanActivity::kRuntime, "no time", 0, 0);
    s.sorter.Write(false);
    REQUIRE(s.kept.rows.size() == 3);
    CHECK(s.kept.rows[0].what == "2 cuLaunchKernel");  // it ends first
    CHECK(s.kept.rows[1].what == "2 cudaLaunchKernel");
    REQUIRE(s.kept.infos.size() == 3);
    CHECK(s.kept.infos[1].thread == 77);
    CHECK(s.kept.infos[1].kind == trace::TrackKind::kDetail);
  }

  TEST_CASE("what is lost is counted, also a record without a time") {
    Sorter s;
    s.sorter.Lose(0);
    CHECK(s.kept.infos.size() == 1);
    s.sorter.Lose(5);
    s.sorter.Add(Sorter::Kernel(1, 0, 2'300));
    CHECK(s.kept.lost == 6);
    CHECK(s.sorter.lost() == 6);
  }

  TEST_CASE("of too much work the oldest is forgotten") {
    IssuedWork work(2);
    const auto first = work.Add({nullptr, ItemId{1}});
    const auto second = work.Add({nullptr, ItemId{2}});
    CHECK(first != 0);
    CHECK(work.Find(first)->batch == ItemId{1});
    work.Add({nullptr, ItemId{3}});
    CHECK_FALSE(work.Find(first).has_value());
    CHECK(work.Find(second)->batch == ItemId{2});
    CHECK_FALSE(work.Find(second + 2).has_value());
    CHECK_FALSE(work.Find(0).has_value());
  }
}

}  // namespace
}  // namespace stallscope
