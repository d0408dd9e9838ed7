// Numbers for texts that come again and again, looked up by their raw bytes: one hash and one
// comparison each, without making a string. Texts that differ only past what is kept of a name are
// one. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TEXT_TABLE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TEXT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers::chrome {

// What is kept of a name, a category or a number that an event brings: each may be 16 MiB long.
inline std::string_view CutName(std::string_view text) {
  return text.substr(0, trace::kMaxNameBytes);
}

class TextTable {
 public:
  // `allowance`, to which the texts are charged, must outlive it.
  explicit TextTable(Allowance& allowance) : allowance_(allowance), slots_(kFirstSlots) {}

  // The value that was put there for `text`, of which no more than three names of the largest size
  // count, and `kind`; a reference to a new one, kNew, where there
  // is none yet. Good until the next call.
  static constexpr uint32_t kNew = ~uint32_t{0};
  uint32_t& At(std::string_view text, uint8_t kind);
  size_t size() const { return used_; }

 private:
  static constexpr size_t kFirstSlots = 64;  // a power of 2, as all sizes
  struct Slot {
    uint64_t hash = 0;
    const std::string* text = nullptr;
    uint32_t value = kNew;
    uint8_t kind = 0;
  };
  void Grow();

  Allowance& allowance_;
  std::vector<Slot> slots_;
  std::deque<std::string> texts_;
  size_t used_ = 0;
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TEXT_TABLE_H_
