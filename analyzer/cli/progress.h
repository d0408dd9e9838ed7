// The progress of a long command: on a terminal a bar with rate and time left, elsewhere a line
// every few seconds. Goes to stderr, so that stdout has results only. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "analyzer/words/progress.h"

namespace stallscope::cli {

class ProgressBar {
 public:
  enum class Total { kExact, kAtMost };  // kAtMost: the work may end before
  // `unit` names what is counted: "images". A total of 0 is unknown.
  ProgressBar(std::string unit, int64_t total, Total kind = Total::kExact);
  ~ProgressBar();  // leaves the line clean

  // Where it changes on the way: a configuration that fails needs no more runs.
  void SetTotal(int64_t total) { at_.total = total; }

  // Call it as often as you like: it draws at most ten times a second, or prints every 5 s.
  void Show(int64_t done) {
    Show(done, [] { return std::string(); });
  }
  // `more` is added to the line, and called only when it is drawn.
  void Show(int64_t done, const std::function<std::string()>& more);

 private:
  words::Progress at_;
  const bool terminal_;
  const int64_t begin_ns_;
  int64_t shown_ns_;
  bool drawn_ = false;
};

}  // namespace stallscope::cli
