// Runs independent pieces of work on some threads. What the pieces write must not depend on which
// thread runs them: reports are the same for any number.
#ifndef STALLSCOPE_ANALYZER_ATTRIBUTION_PARALLEL_H_
#define STALLSCOPE_ANALYZER_ATTRIBUTION_PARALLEL_H_

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace stallscope::attribution {

// Calls piece(i) once for each i below `count`, and returns when all are done.
template <class Piece>
void ForEachParallel(size_t count, unsigned threads, Piece&& piece) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) piece(i);
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads && t < count; ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
}

}  // namespace stallscope::attribution

#endif  // STALLSCOPE_ANALYZER_ATTRIBUTION_PARALLEL_H_
