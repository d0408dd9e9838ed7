// Looks things up by the numbers that a file gives them. One thread at a time.
//
// Profilers number from 1 and leave few holes, so most numbers are an index into a vector; a file
// that numbers otherwise falls back to a map and costs memory for its entries only. Not a hash
// table: crafted numbers could turn it into one long list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace stallscope::importers {

template <class Value>
class IdTable {
 public:
  // The value of this number, created if there is none. May move the others.
  Value& operator[](int64_t id) {
    if (const uint32_t place = PlaceOf(id); place != 0) return values_[place - 1];
    const uint32_t place = static_cast<uint32_t>(values_.size()) + 1;
    if (id >= 0 && id < kDenseFrom + kHolesEach * static_cast<int64_t>(values_.size())) {
      const auto at = static_cast<size_t>(id);
      if (at >= places_.size()) places_.resize(at + 1);
      places_[at] = place;
    } else {
      sparse_[id] = place;
    }
    return values_.emplace_back();
  }
  // Null if there is none.
  const Value* Find(int64_t id) const {
    const uint32_t place = PlaceOf(id);
    return place == 0 ? nullptr : &values_[place - 1];
  }
  std::vector<Value>& values() { return values_; }
  const std::vector<Value>& values() const { return values_; }

 private:
  // A hole costs four bytes, so their number is bounded by the number of entries.
  static constexpr int64_t kDenseFrom = 4096;
  static constexpr int64_t kHolesEach = 8;
  uint32_t PlaceOf(int64_t id) const {
    if (static_cast<uint64_t>(id) < places_.size()) [[likely]] {
      const uint32_t place = places_[static_cast<size_t>(id)];
      if (place != 0) return place;
    }
    if (sparse_.empty()) [[likely]] {
      return 0;
    }
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? 0 : found->second;
  }

  std::vector<uint32_t> places_;  // by number: place in values_, + 1
  std::map<int64_t, uint32_t> sparse_;
  std::vector<Value> values_;
};

}  // namespace stallscope::importers
