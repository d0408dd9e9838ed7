// Numbers for texts that keep recurring, looked up by their raw bytes: one hash and one comparison
// each, without creating a string. Texts that differ only past the kept length of a name are the
// same. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers::chrome {

// The kept part of an event's name, category or number: each may be 16 MiB long.
inline std::string_view CutName(std::string_view text) {
  return text.substr(0, trace::kMaxNameBytes);
}

class TextTable {
 public:
  // `allowance`, to which the texts are charged, must outlive it.
  explicit TextTable(Allowance& allowance) : allowance_(allowance), slots_(kFirstSlots) {}

  // The value for `text` (of which at most three names of maximum length count) and `kind`; a new
  // one, kNew, if there is none yet. The reference is valid until the next call.
  static constexpr uint32_t kNew = ~uint32_t{0};
  uint32_t& At(std::string_view text, uint8_t kind);
  size_t size() const { return used_; }

 private:
  static constexpr size_t kFirstSlots = 64;  // a power of 2, like all sizes
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
