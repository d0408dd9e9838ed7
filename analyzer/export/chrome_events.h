// The plumbing of a Chrome trace: the frame of an event, and the numbers of processes and threads,
// whose names are written when the first event of theirs is. One thread.
#ifndef STALLSCOPE_ANALYZER_EXPORT_CHROME_EVENTS_H_
#define STALLSCOPE_ANALYZER_EXPORT_CHROME_EVENTS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/export/lanes.h"
#include "analyzer/export/text_sink.h"
#include "analyzer/model/run.h"

namespace stallscope::exporting {

struct ThreadNumbers {
  uint64_t pid = 0;
  uint64_t tid = 0;
};

class ChromeEvents {
 public:
  ChromeEvents(const model::Run& run, TextSink& sink) : run_(run), sink_(sink) {}

  void BeginFile();
  void EndFile();

  uint64_t HostProcess(uint32_t rank);
  // A stream's or copy engine's process is its device, any other track's the host.
  uint64_t ProcessOf(const model::Track& track);
  ThreadNumbers NewThread(uint64_t pid, std::string_view name);

  // An event is opened, given arguments, and closed. `head` is its first fields, as EventHead()
  // makes them.
  void OpenSpan(std::string_view head, ThreadNumbers thread, int64_t start_ns, int64_t end_ns);
  void OpenInstant(std::string_view head, ThreadNumbers thread, int64_t time_ns);
  void OpenCounter(std::string_view head, uint64_t pid, int64_t time_ns);
  void Argument(std::string_view key, uint64_t value);
  void Argument(std::string_view key, double value);
  void Argument(std::string_view key, std::string_view text);
  void Argument(std::string_view key, ItemId item) {
    if (item.known()) Argument(key, item.value);
  }
  Status Close();

  // Places `count` intervals on as many threads as they need and calls emit(i, thread) for each,
  // by ascending start. `start` and `end` give the times of interval i. Returns the first thread,
  // which there is only where there is an interval.
  template <class Start, class End, class Emit>
  Result<ThreadNumbers> Deal(uint64_t pid, const std::string& name, size_t count, Start&& start,
                             End&& end, Emit&& emit);

 private:
  uint64_t Process(uint32_t rank, int64_t device, const std::string& name);
  void Metadata(const char* what, ThreadNumbers thread);
  void BeginEvent();
  void Key(std::string_view key);

  const model::Run& run_;
  TextSink& sink_;
  std::map<std::pair<uint32_t, int64_t>, uint64_t> processes_;  // by rank and device, -1 the host
  uint64_t last_tid_ = 0;
  bool any_event_ = false;
  bool any_argument_ = false;
};

// {"ph":"X","cat":"work","name":"decode"
std::string EventHead(char phase, std::string_view category, std::string_view name);

template <class Start, class End, class Emit>
Result<ThreadNumbers> ChromeEvents::Deal(uint64_t pid, const std::string& name, size_t count,
                                         Start&& start, End&& end, Emit&& emit) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), uint32_t{0});
  // Outer intervals first: viewers take events of the same start in the order of the file.
  const auto before = [&](uint32_t a, uint32_t b) {
    const int64_t start_a = start(a);
    const int64_t start_b = start(b);
    return start_a != start_b ? start_a < start_b : end(a) > end(b);
  };
  // Most threads have nothing nested, and their spans are in order as they are.
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  Lanes lanes;
  std::vector<ThreadNumbers> threads;
  for (uint32_t i : order) {
    const size_t lane = lanes.Place(start(i), end(i));
    while (lane >= threads.size()) {
      const std::string number = " (" + std::to_string(threads.size() + 1) + ")";
      threads.push_back(NewThread(pid, threads.empty() ? name : name + number));
    }
    STALLSCOPE_RETURN_IF_ERROR(emit(i, threads[lane]));
  }
  return threads.empty() ? ThreadNumbers{} : threads.front();
}

}  // namespace stallscope::exporting

#endif  // STALLSCOPE_ANALYZER_EXPORT_CHROME_EVENTS_H_
