// How far a long piece of work is, in one line for a person. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace stallscope::words {

struct Progress {
  std::string unit;      // "runs"
  int64_t total = 0;     // 0: unknown
  bool at_most = false;  // it may end before `total`
  int64_t done = 0;
  double seconds = 0;  // until the last of them was done
  double waited = 0;   // since then
};

// "3 of 8 runs, 31.4 s each, 2:10 min left", "3 of at most 10 runs, 31.4 s each", "640 images,
// 128/s". No rate before anything is done; a time left only where the end is known and the work
// goes on as before.
std::string ProgressText(const Progress& at);

}  // namespace stallscope::words
