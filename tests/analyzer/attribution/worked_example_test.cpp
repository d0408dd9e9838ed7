// The example of METHOD.md, recomputed.
#include <doctest/doctest.h>

#include <utility>

#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::BlameText;
using test::NsOf;
using test::RunBuilder;

namespace {

constexpr int64_t kUs = 1000;

// `shorter`: by how much each kernel is shorter.
model::Run Example(int64_t shorter, bool lineage, bool wakers) {
  RunBuilder b;
  const StageId decode = b.Stage("decode");
  const StageId train = b.Stage("trainer", "trainer");
  const QueueId queue = b.Queue("decode", 1, decode);
  const TrackId worker = b.Thread("decode/0", decode);
  const TrackId trainer = b.Thread("trainer", train);
  const TrackId device = b.Stream();
  const TrackId waker = wakers ? worker : TrackId::None();
  const int64_t requested[] = {0, 100, 200};
  const int64_t received[] = {40, 160, 240};
  const int64_t on_cpu[] = {40, 30, 40};
  const int64_t kernel_start[] = {45, 165, 245};
  const int64_t kernel_end[] = {95, 195, 295};
  for (size_t k = 0; k < 3; ++k) {
    // A kernel that ends earlier lets the trainer ask earlier.
    const int64_t shift = -shorter * static_cast<int64_t>(k);
    const int64_t from = requested[k] * kUs + shift;
    const int64_t to = received[k] * kUs + shift;
    const int64_t end = kernel_end[k] * kUs + shift - shorter;
    b.Work(worker, decode, from, to,
           {.item = 1 + k, .cpu = static_cast<uint64_t>(on_cpu[k] * kUs)});
    b.Wait(trainer, trace::WaitCause::kEmpty, queue, from, to, {.waker = waker});
    b.Kernel(device, kernel_start[k] * kUs + shift, end, {.name = "kernel"});
    b.Step({.index = k,
            .requested = from,
            .received = to,
            .issued = to + 5 * kUs,
            .done = end,
            .batch = lineage ? 100 + k : test::kNoItem,
            .track = trainer});
    if (lineage) b.Batch(100 + k, 1 + k);
  }
  return b.Take();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("METHOD.md's example: the partition") {
    const model::Run run = Example(0, true, true);
    const Attribution a = Attribute(run);
    CHECK(a.window.ns() == 295 * kUs);
    CHECK(NsOf(a, Category::kCompute) == 130 * kUs);
    CHECK(NsOf(a, Category::kLaunch) == 15 * kUs);
    CHECK(NsOf(a, Category::kInputStall) == 140 * kUs);
    CHECK(NsOf(a, Category::kOther) == 10 * kUs);
    CHECK(NsOf(a, Category::kTransfer) == 0);
    CHECK(NsOf(a, Category::kCommunication) == 0);
    CHECK(NsOf(a, Category::kSync) == 0);
  }

  TEST_CASE("METHOD.md's example: the decoder could have kept up, only bursts emptied the queue") {
    for (const bool lineage : {true, false}) {
      for (const bool wakers : {true, false}) {
        const model::Run run = Example(0, lineage, wakers);
        CHECK(BlameText(run, Attribute(run)) == "decode buffer 140000");
      }
    }
  }

  TEST_CASE("METHOD.md's example: with kernels 10 us shorter it could not") {
    for (const bool lineage : {true, false}) {
      for (const bool wakers : {true, false}) {
        const model::Run run = Example(10 * kUs, lineage, wakers);
        CHECK(BlameText(run, Attribute(run)) == "decode blocked 30000, decode cpu 110000");
      }
    }
  }

  TEST_CASE("METHOD.md's example: 1.05 times from both sides") {
    // Without stalls the steps take 155 us less three times what the kernels are shorter, and
    // 1.05 x 140 us are 147 us.
    for (const auto& [shorter, buffer] : {std::pair(2666, true), std::pair(2667, false)}) {
      const model::Run run = Example(shorter, true, true);
      const bool is = BlameText(run, Attribute(run)) == "decode buffer 140000";
      CHECK(is == buffer);
    }
  }
}
