// One step that is a stall from beginning to end, so that what is blamed is what the test's threads
// did: 100 ns by default, the trainer waiting for `queue`, no device. Without any step time beside
// the stall no pipeline could have kept up: nothing is relabelled `buffer`.
#pragma once

#include <string>

#include "tests/analyzer/attribution/run_builder.h"

namespace stallscope::test {

struct StallScene : RunBuilder {
  StageId read = Stage("read", "source");
  StageId decode = Stage("decode", "map", 1, true, {read});
  StageId train = Stage("trainer", "trainer", 1, true, {decode});
  QueueId read_queue = Queue("read", 4, read);
  QueueId queue = Queue("decode", 4, decode);
  QueueId turn = Lock("decode input");
  TrackId trainer = Thread("trainer", train);
  int64_t end = 100;

  // The trainer's wait and its step. `batch` is what it got in the end.
  void Stall(TrackId waker = TrackId::None(), uint64_t batch = kNoItem) {
    Wait(trainer, trace::WaitCause::kEmpty, queue, 0, end, {.waker = waker});
    Step({.index = 0,
          .requested = 0,
          .received = end,
          .done = end,
          .batch = batch,
          .track = trainer});
  }
  // Decode's threads; order is kept among them.
  TrackId Worker() {
    const size_t number = workers_++;
    run.stages[decode.value].workers = static_cast<uint32_t>(workers_);
    return Thread("decode/" + std::to_string(number), decode);
  }
  // "decode cpu 100", in the order of the words.
  std::string Blamed() {
    const model::Run taken = Take();
    return BlameText(taken, attribution::Attribute(taken));
  }

 private:
  size_t workers_ = 0;
};

}  // namespace stallscope::test
