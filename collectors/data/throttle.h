// A slow disk for tests: a token bucket that reads wait at.
//
// Readers that share one bucket share its rate, as they would share a disk. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DATA_THROTTLE_H_
#define STALLSCOPE_COLLECTORS_DATA_THROTTLE_H_

#include <cstdint>
#include <mutex>

namespace stallscope::data {

class TokenBucket {
 public:
  // bytes_per_s > 0. The bucket holds 20 ms of them, and is empty at first.
  explicit TokenBucket(uint64_t bytes_per_s);

  // Takes the tokens and sleeps until they were due. Takers are served in the order in which they
  // came, each paying for itself alone.
  void Take(uint64_t bytes);

  // When the tokens are due, on CLOCK_MONOTONIC, for a taker that comes at `now_ns`: what Take
  // sleeps until, apart from the clock so that a test needs none.
  int64_t DueAt(uint64_t bytes, int64_t now_ns);

  // The most that one read should ask for, so that data comes in a stream and not in gulps.
  uint64_t ReadSize() const;

 private:
  const uint64_t bytes_per_s_;
  std::mutex mutex_;
  int64_t next_ns_ = INT64_MIN;  // when the tokens already promised will have come in
};

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_THROTTLE_H_
