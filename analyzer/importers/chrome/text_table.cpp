#include "analyzer/importers/chrome/text_table.h"

#include <xxhash.h>

namespace stallscope::importers::chrome {

uint32_t& TextTable::At(std::string_view text, uint8_t kind) {
  // Keys are made of up to three cut names.
  text = text.substr(0, 3 * trace::kMaxNameBytes + 2);
  const uint64_t hash = XXH3_64bits_withSeed(text.data(), text.size(), kind);
  size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at].text != nullptr; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.hash == hash && slot.kind == kind && *slot.text == text) return slot.value;
  }
  if (used_ * 2 >= slots_.size()) {
    Grow();
    mask = slots_.size() - 1;
    at = hash & mask;
    while (slots_[at].text != nullptr) at = (at + 1) & mask;
  }
  ++used_;
  allowance_.ChargeText(text.size());
  slots_[at] = {hash, &texts_.emplace_back(text), kNew, kind};
  return slots_[at].value;
}

void TextTable::Grow() {
  std::vector<Slot> larger(slots_.size() * 2);
  for (const Slot& slot : slots_) {
    if (slot.text == nullptr) continue;
    size_t at = slot.hash & (larger.size() - 1);
    while (larger[at].text != nullptr) at = (at + 1) & (larger.size() - 1);
    larger[at] = slot;
  }
  slots_ = std::move(larger);
}

}  // namespace stallscope::importers::chrome
