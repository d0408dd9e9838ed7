// Records spans until it is killed: crash_victim TRACE PROGRESS.
#include <thread>
#include <vector>

#include "collectors/recorder/recorder.h"
#include "tests/crash/progress.h"

using namespace stallscope;            // NOLINT(google-build-using-namespace)
using namespace stallscope::recorder;  // NOLINT(google-build-using-namespace)
using test::Progress;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Progress* progress = test::MapProgress(argv[2]);
  auto recorder = Recorder::Start(argv[1], {});
  if (progress == nullptr || !recorder.ok()) return 5;
  const StageId stage = recorder.value()->DefineStage({{}, "work", "map", {}, {}, 3, true});
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < Progress::kThreads; ++t) {
    threads.emplace_back([&, t] {
      ThreadScope thread(recorder.value().get(), "victim/" + std::to_string(t), stage);
      for (uint64_t i = 0;; ++i) {
        progress->time_ns[t][i % Progress::kTimes] = MonotonicNs();
        progress->begun[t] = i + 1;
        { SpanScope span(stage, ItemId{i}); }
        progress->finished[t] = i + 1;
        // About 100,000 spans per second: several frames per flush, but no overload.
        const int64_t until = MonotonicNs() + 10'000;
        while (MonotonicNs() < until) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
