// Nanoseconds and bytes as types of their own, so that they are never added to each other.
//
// Columns of millions of values store plain int64_t; these types are for interfaces.
#pragma once

#include <compare>
#include <cstdint>

namespace stallscope {

template <class Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(int64_t count) : count_(count) {}

  constexpr int64_t count() const { return count_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity other) const { return Quantity(count_ + other.count_); }
  constexpr Quantity operator-(Quantity other) const { return Quantity(count_ - other.count_); }
  constexpr Quantity& operator+=(Quantity other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    count_ -= other.count_;
    return *this;
  }

 private:
  int64_t count_ = 0;
};

using Ns = Quantity<struct NsUnit>;
using Bytes = Quantity<struct BytesUnit>;

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kNsPerUs = 1'000;

constexpr double Seconds(Ns ns) { return static_cast<double>(ns.count()) / kNsPerSecond; }

}  // namespace stallscope
