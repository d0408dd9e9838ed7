// How much memory one foreign file may take while it becomes a run: the rule of
// analyzer/base/amplification.h, counted in one place for all importers. One thread at a time.
//
// Everything that is kept per event, name, row or byte is charged, roughly and rather too much, as
// it is kept. Charging never fails: who reads asks Check() now and then, at the latest after every
// few MiB, so that what is past the limit is small.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_ALLOWANCE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_ALLOWANCE_H_

#include <cstdint>
#include <limits>
#include <string>

#include "analyzer/base/amplification.h"
#include "analyzer/base/result.h"

namespace stallscope::importers {

class Allowance {
 public:
  // What an entry of a table costs beside its text: nodes, slots, the string's own head.
  static constexpr uint64_t kEntryBytes = 96;

  // Without a limit: of a run that no file makes.
  Allowance() = default;
  explicit Allowance(uint64_t file_bytes)
      : file_bytes_(file_bytes), limit_(MostMemoryFor(file_bytes)) {}

  void Charge(uint64_t bytes) { charged_ += bytes; }
  void ChargeText(uint64_t size) { charged_ += kEntryBytes + size; }
  void GiveBack(uint64_t bytes) { charged_ -= bytes; }
  bool Spent() const { return charged_ > limit_; }
  uint64_t charged() const { return charged_; }

  // kInput once it is spent.
  Status Check(const std::string& path, bool packed) const;

 private:
  uint64_t file_bytes_ = 0;
  uint64_t limit_ = std::numeric_limits<uint64_t>::max();
  uint64_t charged_ = 0;
};

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_ALLOWANCE_H_
