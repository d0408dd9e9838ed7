#include "analyzer/importers/chrome/decimal.h"

#include "analyzer/trace/limits.h"

namespace stallscope::importers::chrome {
namespace {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// mantissa x 10^exponent, with as many digits as fit; `rest` is the first one that did not.
struct Decimal {
  uint64_t mantissa = 0;
  int exponent = 0;
  int next_digit = -1;
  bool negative = false;
};

constexpr uint64_t kMost = ~uint64_t{0};
// Whether one more digit fits in.
constexpr bool HasRoom(uint64_t mantissa, int digit) {
  return mantissa < kMost / 10 ||
         (mantissa == kMost / 10 && static_cast<uint64_t>(digit) <= kMost % 10);
}
constexpr int kMostExponent = 400;

std::optional<Decimal> Parse(std::string_view text) {
  Decimal number;
  size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) number.negative = text[i++] == '-';
  const size_t first = i;
  bool point = false;
  size_t digits = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (!IsDigit(c)) break;
    ++digits;
    if (number.next_digit < 0 && HasRoom(number.mantissa, c - '0')) {
      number.mantissa = number.mantissa * 10 + static_cast<uint64_t>(c - '0');
      if (point) --number.exponent;
    } else {
      if (number.next_digit < 0) number.next_digit = c - '0';
      if (!point && ++number.exponent > kMostExponent) return std::nullopt;
    }
  }
  if (digits == 0 || i == first) return std::nullopt;
  if (i == text.size()) return number;
  if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
  ++i;
  bool negative = false;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
  if (i == text.size()) return std::nullopt;
  int exponent = 0;
  for (; i < text.size(); ++i) {
    if (!IsDigit(text[i])) return std::nullopt;
    if (exponent < kMostExponent) exponent = exponent * 10 + (text[i] - '0');
  }
  number.exponent += negative ? -exponent : exponent;
  return number;
}

// The number times 10^shift as a whole one, rounded.
std::optional<uint64_t> Scaled(Decimal number, int shift) {
  int exponent = number.exponent + shift;
  uint64_t value = number.mantissa;
  if (value == 0) return 0;
  for (; exponent > 0; --exponent) {
    if (!HasRoom(value, 0)) return std::nullopt;
    value *= 10;
  }
  int dropped = number.next_digit;
  for (; exponent < 0 && value != 0; ++exponent) {
    dropped = static_cast<int>(value % 10);
    value /= 10;
  }
  if (exponent < 0) dropped = 0;
  if (dropped < 5) return value;
  if (value == kMost) return std::nullopt;
  return value + 1;
}

}  // namespace

std::optional<int64_t> NanosecondsOf(std::string_view microseconds) {
  // Nearly always: digits, and a point with up to three more.
  constexpr size_t kShort = 17;
  if (microseconds.size() <= kShort) {
    uint64_t value = 0;
    int after_point = -1;
    bool plain = true;
    bool any = false;
    for (const char c : microseconds) {
      if (IsDigit(c)) {
        any = true;
        value = value * 10 + static_cast<uint64_t>(c - '0');
        if (after_point >= 0) ++after_point;
      } else if (c == '.' && after_point < 0) {
        after_point = 0;
      } else {
        plain = false;
        break;
      }
    }
    constexpr uint64_t kPowers[] = {1000, 100, 10, 1};
    if (after_point < 0) after_point = 0;
    if (plain && any && after_point <= 3 &&
        value <= static_cast<uint64_t>(trace::kMaxTimeNs) / 1000) {
      return static_cast<int64_t>(value * kPowers[after_point]);
    }
  }
  const std::optional<Decimal> number = Parse(microseconds);
  if (!number) return std::nullopt;
  const std::optional<uint64_t> ns = Scaled(*number, 3);
  if (!ns || *ns > static_cast<uint64_t>(trace::kMaxTimeNs)) return std::nullopt;
  return number->negative ? -static_cast<int64_t>(*ns) : static_cast<int64_t>(*ns);
}

std::optional<uint64_t> WholeNumber(std::string_view text) {
  const std::optional<Decimal> number = Parse(text);
  if (!number || (number->negative && number->mantissa != 0)) return std::nullopt;
  if (number->next_digit >= 0) return std::nullopt;
  return Scaled(*number, 0);
}

}  // namespace stallscope::importers::chrome
