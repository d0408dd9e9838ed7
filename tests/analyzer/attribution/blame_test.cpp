// One case a row of METHOD.md's table of what a thread does, with near misses.
#include <doctest/doctest.h>

#include <string>

#include "tests/analyzer/attribution/stall_scene.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::BlameText;
using test::NsOf;
using test::StallScene;
using trace::WaitCause;

TEST_SUITE("fast") {
  TEST_CASE("blame: work, while it lasts, for its own stage") {
    StallScene s;
    const TrackId worker = s.Worker();
    s.Work(worker, s.read, 0, 30, {.cpu = 30});  // decode's thread reads for itself
    s.Work(worker, s.decode, 30, 100, {.cpu = 70});
    s.Stall(worker);
    CHECK(s.Blamed() == "decode cpu 70, read cpu 30");
  }

  TEST_CASE("blame: gap goes to the preceding span, in an imported run to the thread's stage") {
    for (const bool imported : {false, true}) {
      StallScene s;
      const TrackId worker = s.Worker();
      s.Work(worker, s.read, 0, 30, {.cpu = 30});  // decode's thread reads for itself
      s.Stall();
      model::Run run = s.Take();
      if (imported) run.info.imported_from = "tensorflow";
      for (trace::SpanClass& what : run.span_classes) {
        if (what.kind == trace::SpanKind::kWait) what.activity = trace::SpanActivity::kLoader;
      }
      CHECK(BlameText(run, Attribute(run)) ==
            (imported ? "decode unknown 70, read cpu 30" : "read cpu 100"));
    }
  }

  TEST_CASE("blame: innermost of nested spans") {
    StallScene s;
    const TrackId worker = s.Worker();
    s.Wait(worker, WaitCause::kIo, QueueId::None(), 20, 35);
    s.Work(worker, s.read, 10, 50, {.cpu = 25});
    s.Work(worker, s.decode, 0, 100, {.cpu = 85});
    s.Stall(worker);
    CHECK(s.Blamed() == "decode cpu 60, read cpu 25, read io 15");
  }

  TEST_CASE("blame: io goes to the stage of the enclosing work") {
    StallScene map;
    TrackId worker = map.Worker();
    map.Wait(worker, WaitCause::kIo, QueueId::None(), 20, 60);
    map.Work(worker, map.decode, 0, 100, {.cpu = 60});
    map.Stall(worker);
    CHECK(map.Blamed() == "decode cpu 60, decode io 40");

    // A read of a thread that nobody waits for is nobody's stall.
    StallScene other;
    worker = other.Worker();
    const TrackId reader = other.Thread("read/0", other.read);
    other.Wait(reader, WaitCause::kIo, QueueId::None(), 20, 60);
    other.Work(reader, other.read, 0, 100);
    other.Work(worker, other.decode, 0, 100, {.cpu = 100});
    other.Stall(worker);
    CHECK(other.Blamed() == "decode cpu 100");
  }

  TEST_CASE("blame: empty queue goes to the thread that ended the wait") {
    StallScene s;
    const TrackId worker = s.Worker();
    const TrackId reader = s.Thread("read/0", s.read);
    s.Wait(worker, WaitCause::kEmpty, s.read_queue, 0, 70, {.waker = reader});
    s.Work(worker, s.decode, 70, 100, {.cpu = 30});
    s.Wait(reader, WaitCause::kIo, QueueId::None(), 5, 60);
    s.Work(reader, s.read, 0, 70, {.cpu = 15});
    s.Stall(worker);
    CHECK(s.Blamed() == "decode cpu 30, read cpu 15, read io 55");
  }

  TEST_CASE("blame: empty queue without a waker: equal shares over the working workers") {
    StallScene s;
    const TrackId a = s.Worker();
    const TrackId b = s.Worker();
    const TrackId c = s.Worker();
    s.Work(a, s.decode, 0, 100, {.cpu = 100});
    s.Work(b, s.read, 0, 40, {.cpu = 40});
    s.Wait(c, WaitCause::kFull, s.queue, 0, 100);  // does not work
    s.Stall();
    CHECK(s.Blamed() == "decode cpu 80, read cpu 20");
  }

  TEST_CASE("blame: remainders of equal shares go to the lowest stage") {
    StallScene s;
    s.end = 101;
    const TrackId a = s.Worker();
    const TrackId b = s.Worker();
    s.Work(a, s.decode, 0, 101, {.cpu = 101});
    s.Work(b, s.read, 0, 101, {.cpu = 101});
    s.Stall();
    CHECK(s.Blamed() == "decode cpu 50, read cpu 51");

    StallScene three;
    three.end = 101;
    for (const StageId stage : {three.decode, three.read, three.train}) {
      three.Work(three.Worker(), stage, 0, 101, {.cpu = 101});
    }
    three.Stall();
    CHECK(three.Blamed() == "decode cpu 34, read cpu 34, trainer cpu 33");
  }

  TEST_CASE("blame: no worker working: what the first one waits for") {
    StallScene s;
    const TrackId a = s.Worker();
    const TrackId b = s.Worker();
    const TrackId reader = s.Thread("read/0", s.read);
    s.Wait(a, WaitCause::kEmpty, s.read_queue, 0, 100);
    s.Wait(b, WaitCause::kFull, s.queue, 0, 60);
    s.Work(b, s.decode, 60, 100, {.cpu = 40});
    s.Work(reader, s.read, 0, 100, {.cpu = 100});
    s.Stall();
    CHECK(s.Blamed() == "decode cpu 40, read cpu 60");
  }

  TEST_CASE("blame: no worker working: one that waits, not one of an earlier pass") {
    StallScene s;
    s.Worker();
    const TrackId waits = s.Worker();
    const TrackId reader = s.Thread("read/0", s.read);
    s.Wait(waits, WaitCause::kEmpty, s.read_queue, 0, 100);
    s.Work(reader, s.read, 0, 100, {.cpu = 100});
    s.Stall();
    CHECK(s.Blamed() == "read cpu 100");
  }

  TEST_CASE("blame: unknown producer, producer without threads: unknown") {
    StallScene s;
    s.run.queues[s.queue.value].producer = StageId::None();
    s.Worker();
    s.Stall();
    CHECK(s.Blamed() == "trainer unknown 100");

    StallScene gone;
    gone.Stall();
    CHECK(gone.Blamed() == "decode unknown 100");
  }

  TEST_CASE("blame: a thread that wakes itself") {
    StallScene s;
    s.Work(s.Worker(), s.decode, 0, 100, {.cpu = 100});
    s.Stall(s.trainer);
    CHECK(s.Blamed() == "decode cpu 100");
  }

  TEST_CASE("blame: threads that wait for each other end in unknown") {
    StallScene s;
    const TrackId a = s.Worker();
    const TrackId b = s.Worker();
    s.Wait(a, WaitCause::kEmpty, s.read_queue, 0, 100, {.waker = b});
    s.Wait(b, WaitCause::kEmpty, s.read_queue, 0, 100, {.waker = a});
    s.Stall(a);
    CHECK(s.Blamed() == "decode unknown 100");
  }

  TEST_CASE("blame: order if at least half of the other workers wait for room") {
    const auto scene = [](int others, int waiting, bool ordered) {
      StallScene s;
      s.run.stages[s.decode.value].ordered = ordered;
      const TrackId head = s.Worker();
      s.Work(head, s.decode, 0, 100, {.cpu = 100});
      for (int i = 0; i < others; ++i) {
        const TrackId worker = s.Worker();
        if (i < waiting) {
          s.Wait(worker, WaitCause::kFull, s.queue, 10, 50);
        } else {
          s.Work(worker, s.decode, 0, 100, {.cpu = 100});
        }
      }
      s.Stall(head);
      return s.Blamed();
    };
    CHECK(scene(1, 1, true) == "decode cpu 60, decode order 40");
    CHECK(scene(2, 1, true) == "decode cpu 60, decode order 40");
    CHECK(scene(4, 2, true) == "decode cpu 60, decode order 40");
    CHECK(scene(3, 2, true) == "decode cpu 60, decode order 40");
    CHECK(scene(3, 1, true) == "decode cpu 100");
    CHECK(scene(5, 2, true) == "decode cpu 100");
    CHECK(scene(4, 4, false) == "decode cpu 100");
  }

  TEST_CASE("blame: order does not count the workers of another pass") {
    const auto scene = [](int64_t from) {
      StallScene s;
      const TrackId head = s.Worker();
      s.Work(head, s.decode, 0, 100, {.cpu = 100});
      s.Wait(s.Worker(), WaitCause::kFull, s.queue, 10, 50);
      for (int i = 0; i < 3; ++i) s.Work(s.Worker(), s.decode, from, 200, {.cpu = 100});
      s.Stall(head);
      return s.Blamed();
    };
    CHECK(scene(100) == "decode cpu 60, decode order 40");
    CHECK(scene(99) == "decode cpu 100");
  }

  TEST_CASE("blame: order only while half of the others are held back") {
    StallScene s;
    const TrackId head = s.Worker();
    const TrackId b = s.Worker();
    const TrackId c = s.Worker();
    const TrackId d = s.Worker();
    s.Work(head, s.decode, 0, 100, {.cpu = 100});
    s.Wait(b, WaitCause::kFull, s.queue, 10, 50);  // of three two from 30 to 50 and 60 to 80
    s.Wait(b, WaitCause::kFull, s.queue, 60, 80);
    s.Wait(c, WaitCause::kFull, s.queue, 30, 80);
    s.Work(d, s.decode, 0, 100, {.cpu = 100});
    s.Stall(head);
    CHECK(s.Blamed() == "decode cpu 60, decode order 40");
  }

  TEST_CASE("blame: full queue of an ordered stage is order") {
    const auto scene = [](bool ordered, int workers) {
      StallScene s;
      s.run.stages[s.decode.value].ordered = ordered;
      const TrackId first = s.Worker();
      for (int i = 1; i < workers; ++i) s.Worker();
      s.Wait(first, WaitCause::kFull, s.queue, 0, 100);
      s.Stall(first);
      return s.Blamed();
    };
    CHECK(scene(true, 2) == "decode order 100");
    CHECK(scene(true, 1) == "decode unknown 100");
    CHECK(scene(false, 2) == "decode unknown 100");
  }

  TEST_CASE("blame: waiting for a turn goes to the worker that has it") {
    StallScene s;
    const TrackId head = s.Worker();
    const TrackId b = s.Worker();
    const TrackId c = s.Worker();
    const TrackId reader = s.Thread("read/0", s.read);
    s.Wait(head, WaitCause::kLock, s.turn, 0, 80);
    s.Work(head, s.decode, 80, 100, {.cpu = 20});
    s.Work(b, s.read, 0, 30, {.cpu = 30});  // pulls: upstream work in its own thread
    s.Work(b, s.decode, 30, 100, {.cpu = 70});
    s.Wait(c, WaitCause::kLock, s.turn, 0, 30);
    s.Wait(c, WaitCause::kEmpty, s.read_queue, 30, 70, {.waker = reader});  // has its turn, waits
    s.Work(c, s.decode, 70, 100, {.cpu = 30});
    s.Wait(reader, WaitCause::kIo, QueueId::None(), 30, 60);
    s.Work(reader, s.read, 20, 75, {.cpu = 25});
    s.Stall(head);
    // b's 30 on the CPU, c's 40 of which the reader waits 30; from 70 to 80 nobody has a turn.
    CHECK(s.Blamed() == "decode cpu 20, decode lock 10, read cpu 40, read io 30");
  }

  TEST_CASE("blame: lock that no other worker holds") {
    StallScene s;
    const TrackId head = s.Worker();
    const TrackId b = s.Worker();
    s.Wait(head, WaitCause::kLock, s.turn, 0, 60);
    s.Work(head, s.decode, 60, 100, {.cpu = 40});
    s.Work(b, s.decode, 0, 100, {.cpu = 100});  // its own stage's work needs no turn
    s.Stall(head);
    CHECK(s.Blamed() == "decode cpu 40, decode lock 60");
  }

  TEST_CASE("blame: device wait is blocked, wait without a cause is unknown") {
    StallScene s;
    const TrackId worker = s.Worker();
    s.Wait(worker, WaitCause::kDevice, QueueId::None(), 0, 60);
    s.Wait(worker, WaitCause::kUnknown, QueueId::None(), 60, 100);
    s.Stall(worker);
    CHECK(s.Blamed() == "decode blocked 60, decode unknown 40");
  }

  TEST_CASE("blame: gap is unknown if events were lost") {
    const auto scene = [](bool lost) {
      StallScene s;
      const TrackId worker = s.Worker();
      s.Work(worker, s.read, 20, 40, {.cpu = 20});
      s.Work(worker, s.decode, 90, 100, {.cpu = 10});
      if (lost) s.Gap(worker, 50, 75);
      s.Stall(worker);
      return s.Blamed();
    };
    // 0 to 20 nothing is before: the thread's own stage.
    CHECK(scene(false) == "decode cpu 30, read cpu 70");
    CHECK(scene(true) == "decode cpu 30, read cpu 45, read unknown 25");
  }

  TEST_CASE("blame: overlapping gaps count once") {
    StallScene s;
    const TrackId worker = s.Worker();
    s.Work(worker, s.decode, 0, 20, {.cpu = 20});
    s.Gap(worker, 30, 60);
    s.Gap(worker, 40, 70);
    s.Stall(worker);
    CHECK(s.Blamed() == "decode cpu 60, decode unknown 40");
  }

  TEST_CASE("blame: thread without any record") {
    StallScene s;
    const TrackId worker = s.Worker();
    s.Stall(worker);
    CHECK(s.Blamed() == "decode unknown 100");
  }

  TEST_CASE("blame: several devices: exact mean of their stalls") {
    StallScene s;
    const TrackId worker = s.Worker();
    s.Work(worker, s.read, 0, 50, {.cpu = 50});
    s.Work(worker, s.decode, 50, 100, {.cpu = 50});
    s.Kernel(s.Stream(0), 0, 40);    // read 10, decode 50
    s.Kernel(s.Stream(1), 0, 75);    // read 0, decode 25
    s.Kernel(s.Stream(2), 99, 100);  // read 50, decode 49
    s.Stall(worker);
    const model::Run run = s.Take();
    const Attribution a = Attribute(run);
    // 184 / 3 is 61 and a third; of read's 60 / 3 nothing is left, of decode's 124 / 3 a third.
    CHECK(NsOf(a, Category::kInputStall) == 61);
    CHECK(BlameText(run, a) == "decode cpu 41, read cpu 20");
  }

  TEST_CASE("blame: a rank's stall goes to its own workers") {
    StallScene s;
    const TrackId mine = s.Worker();
    s.Work(mine, s.decode, 0, 100, {.cpu = 100});
    // The other rank's decoder reads for itself at the same time.
    const TrackId theirs = s.Thread("rank 1: decode/0", s.decode, 1);
    s.Work(theirs, s.read, 0, 100, {.cpu = 100});
    const TrackId peer = s.Thread("rank 1: trainer", s.train, 1);
    s.Step({.index = 0, .requested = 0, .received = 0, .done = 100, .track = peer, .rank = 1});
    s.Stall();  // without a waker: whoever works
    const model::Run run = s.Take();
    CHECK(BlameText(run, Attribute(run)) == "decode cpu 50");
  }

  TEST_CASE("blame: trainer about which nothing is known") {
    StallScene s;
    s.Step({.index = 0, .requested = 0, .received = 100, .done = 100});
    CHECK(s.Blamed() == "nothing unknown 100");
  }
}
