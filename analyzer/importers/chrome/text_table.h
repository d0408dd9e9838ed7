// Numbers for texts that come again and again, looked up by their raw bytes: one hash and one
// comparison each, without making a string. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TEXT_TABLE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TEXT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::importers::chrome {

class TextTable {
 public:
  TextTable() : slots_(kFirstSlots) {}

  // The value that was put there for `text` and `kind`; a reference to a new one, kNew, where there
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

  std::vector<Slot> slots_;
  std::deque<std::string> texts_;
  size_t used_ = 0;
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TEXT_TABLE_H_
