// Which source is read when: the single step that a sampler's thread repeats.
//
// A source comes due after its period. One that turns out to cost much here (a machine with
// hundreds of cores, a process with thousands of files) is read less often, so that no source takes
// more than its share of a core; but at least once a second. Belongs to one thread at a time.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_ROUND_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_ROUND_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "collectors/system/source.h"

namespace stallscope::system {

class Round {
 public:
  // Of a core, for one source.
  static constexpr double kShare = 0.0002;
  static constexpr int64_t kLongestStretchNs = 1'000'000'000;

  using Clock = int64_t (*)();

  // `sink` must outlive the object. `clock` (nanoseconds) measures what a reading costs.
  Round(std::vector<std::unique_ptr<Source>> sources, CounterSink& sink, Clock clock);

  // Reads what is due at `now_ns`. Calls come about `interval_ns` apart; a source is never put off
  // to the next one because this one came a little early.
  void SampleOnce(int64_t now_ns, int64_t interval_ns);
  // Reads everything, completely: the first and the last values of a recording.
  void SampleAll(int64_t now_ns);

  std::vector<Absence> absences() const;

 private:
  struct Entry {
    std::unique_ptr<Source> source;
    int64_t due_ns = 0;
    int64_t cost_ns = 0;  // falls at once, rises slowly: a reading may have been interrupted
  };
  void Read(Entry& entry, int64_t now_ns, Effort effort);

  std::vector<Entry> entries_;
  CounterSink& sink_;
  Clock clock_;
};

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_ROUND_H_
