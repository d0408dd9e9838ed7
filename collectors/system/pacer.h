// When a sampler's thread reads its sources: a Pacer keeps the beat, a Round decides what each beat
// reads.
//
// Beats are at start + n * interval, so that they never drift. A missed beat (the machine was
// suspended, a call took longer) is skipped, not made up for. Stop() wakes the thread at once. An
// eventfd and ppoll() rather than a condition variable: gcc 12's ThreadSanitizer does not know the
// call behind a timed wait on the steady clock.
//
// A source is due once per period. Where the thread uses more than its share of a core (hundreds of
// cores to read, or a loaded machine on which every system call starts cold), all periods are
// stretched until it does not, but none beyond a second. Rejected: one share per source, which
// halves the rate of all on a loaded machine though only half of them are expensive. A Round
// belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "analyzer/base/clock.h"
#include "analyzer/base/result.h"
#include "analyzer/base/thread.h"
#include "collectors/system/source.h"

namespace stallscope::system {

class Pacer {
 public:
  Pacer() = default;
  ~Pacer();  // stops
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  // Called with the time; returns the time before which it need not be called again.
  using Beat = std::function<int64_t(int64_t now_ns)>;

  // Calls `beat` on its own thread, first after one interval, and last() once when it stops. `name`
  // (at most 15 bytes) is what debuggers show. An exception from either ends the beat and goes to
  // `failed`, on that thread.
  Status Start(const char* name, int64_t interval_ns, Beat beat, std::function<void()> last,
               std::function<void(Error)> failed);
  // Returns after last(). Does nothing if not running. One caller at a time.
  void Stop();

  // Of the beats at start_ns + n * interval_ns the first after `now_ns` that is not more than half
  // an interval before `wanted_ns`.
  static int64_t NextBeat(int64_t start_ns, int64_t interval_ns, int64_t now_ns,
                          int64_t wanted_ns) {
    const int64_t past = std::max(now_ns, wanted_ns - interval_ns / 2 - 1);
    return start_ns + ((past - start_ns) / interval_ns + 1) * interval_ns;
  }

 private:
  void Run(int64_t interval_ns);
  bool StoppedBefore(int64_t deadline_ns) const;

  int stop_ = -1;  // an eventfd
  Beat beat_;
  std::function<void()> last_;
  ThreadGroup thread_;
};

struct RoundOptions {
  int64_t interval_ns = 50'000'000;      // between two calls of SampleOnce(), at least
  double cpu_share = 0.001;              // of a core; 0: unbounded
  int64_t (*cpu_clock)() = ThreadCpuNs;  // CPU time of the calling thread
};

class Round {
 public:
  // `sink` must outlive the object.
  Round(std::vector<std::unique_ptr<Source>> sources, CounterSink& sink, RoundOptions options);

  // Reads what is due at `now_ns` or within half an interval after it. Returns when the next source
  // is due.
  int64_t SampleOnce(int64_t now_ns);
  // Reads everything, completely: the first and the last values of a recording.
  void SampleAll(int64_t now_ns);

  // By how much the periods are stretched at present.
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
