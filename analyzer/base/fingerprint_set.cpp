#include "analyzer/base/fingerprint_set.h"

#include <utility>

namespace stallscope {
namespace {

constexpr uint64_t kFree = 0;
constexpr size_t kFewestSlots = 16;

// The one hash that means "free" counts as its neighbor.
constexpr uint64_t Stored(uint64_t hash) { return hash == kFree ? 1 : hash; }

}  // namespace

size_t FingerprintSet::Find(uint64_t hash) const {
  size_t slot = Home(hash);
  while (slots_[slot] != kFree && slots_[slot] != hash) slot = Next(slot);
  return slot;
}

void FingerprintSet::Grow() {
  const std::vector<uint64_t> old = std::exchange(
      slots_, std::vector<uint64_t>(slots_.empty() ? kFewestSlots : 2 * slots_.size(), kFree));
  for (const uint64_t hash : old) {
    if (hash != kFree) slots_[Find(hash)] = hash;
  }
}

// At most three of four slots are taken: a search stays short.
void FingerprintSet::Insert(uint64_t hash) {
  if (4 * (used_ + 1) > 3 * slots_.size()) Grow();
  const size_t slot = Find(Stored(hash));
  if (slots_[slot] != kFree) return;
  slots_[slot] = Stored(hash);
  ++used_;
}

bool FingerprintSet::Contains(uint64_t hash) const {
  return used_ > 0 && slots_[Find(Stored(hash))] != kFree;
}

// Those behind it that were put off to there move up, so that a search still finds them: a mark for
// "was taken" would fill the set of a program that notes and forgets for days.
void FingerprintSet::Erase(uint64_t hash) {
  if (!Contains(hash)) return;
  size_t hole = Find(Stored(hash));
  for (size_t slot = Next(hole); slots_[slot] != kFree; slot = Next(slot)) {
    const size_t mask = slots_.size() - 1;
    const bool home_is_behind_hole = ((slot - Home(slots_[slot])) & mask) < ((slot - hole) & mask);
    if (home_is_behind_hole) continue;
    slots_[hole] = slots_[slot];
    hole = slot;
  }
  slots_[hole] = kFree;
  --used_;
}

}  // namespace stallscope
