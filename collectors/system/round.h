// Which source is read when: the single step that a sampler's thread repeats.
//
// A source comes due after its period. Where the thread burns more than its share of a core (a
// machine with hundreds of cores, a loaded one on which every call into the kernel starts cold),
// all periods are stretched until it does not; but none past a second. Rejected: a share for each
// source, which halves the rate of all on a loaded machine though half of them are dear. Belongs to
// one thread at a time.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_ROUND_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_ROUND_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/base/clock.h"
#include "collectors/system/source.h"

namespace stallscope::system {

struct RoundOptions {
  int64_t interval_ns = 50'000'000;      // between two calls of SampleOnce(), at least
  double cpu_share = 0.001;              // of a core; 0: unbounded
  int64_t (*cpu_clock)() = ThreadCpuNs;  // what the calling thread has burned
};

class Round {
 public:
  // `sink` must outlive the object.
  Round(std::vector<std::unique_ptr<Source>> sources, CounterSink& sink, RoundOptions options);

  // Reads what is due at `now_ns`, also what would be before half an interval is over. Returns when
  // the next source is due.
  int64_t SampleOnce(int64_t now_ns);
  // Reads everything, completely: the first and the last values of a recording.
  void SampleAll(int64_t now_ns);

  // How many times their periods apart the sources are read at present.
  double stretch() const { return stretch_; }
  std::vector<Absence> absences() const;

 private:
  struct Entry {
    std::unique_ptr<Source> source;
    int64_t due_ns = 0;
  };
  void Balance(int64_t now_ns);
  int64_t NextDue(const Entry& entry, int64_t now_ns) const;

  std::vector<Entry> entries_;
  CounterSink& sink_;
  RoundOptions options_;
  double stretch_ = 1;
  int64_t balanced_ns_ = -1;  // when stretch_ was last set; -1: SampleOnce() has not been called
  int64_t balanced_cpu_ns_ = 0;
};

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_ROUND_H_
