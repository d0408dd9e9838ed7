// Which call launched which device work: what ties the two is the correlation id that both carry.
// One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_LAUNCHES_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_LAUNCHES_H_

#include <cstdint>
#include <vector>

#include "analyzer/base/column.h"

namespace stallscope::importers::chrome {

class Launches {
 public:
  // What a call takes at most, with its part of the table by id.
  static constexpr uint64_t kCallBytes = 48;

  void Add(uint64_t correlation, int64_t start_ns) { calls_.push_back({correlation, start_ns}); }
  // Call once, when all are added.
  void Close();
  // When the call began; 0 where none is known or it is said to begin after the work.
  int64_t StartOf(uint64_t correlation, int64_t work_start_ns) const;

 private:
  struct Call {
    uint64_t correlation;
    int64_t start_ns;
  };
  Column<Call> calls_;
  // Ids are handed out one after the other, so that a table by id is usually full: place + 1 in
  // calls_. Empty where they are too scattered for that; calls_ is sorted then.
  std::vector<uint32_t> by_id_;
  uint64_t first_id_ = 0;
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_LAUNCHES_H_
