#include "analyzer/importers/chrome/json.h"

#include <simdjson.h>
#include <cstdint>
#include <cstring>
#include <optional>

#include "analyzer/base/utf8.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers::chrome {

struct Structure::Simd {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
  size_t capacity = 0;

  bool Reserve(size_t size) {
    if (parser && size <= capacity) return true;
    capacity = size + size / 4;
    if (parser) return parser->allocate(capacity, 1) == simdjson::SUCCESS;
    return simdjson::get_active_implementation()->create_dom_parser_implementation(
               capacity, 1, parser) == simdjson::SUCCESS;
  }
};

Structure::Structure() : simd_(std::make_unique<Simd>()) {}
Structure::~Structure() = default;

std::optional<IndexedText> Structure::Index(std::string_view text) {
  if (!simd_->Reserve(text.size())) return std::nullopt;
  auto& parser = *simd_->parser;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const simdjson::error_code error =
      parser.stage1(bytes, text.size(), simdjson::stage1_mode::regular);
  if (error == simdjson::EMPTY) return IndexedText{text.data(), text.size(), nullptr, 0};
  if (error != simdjson::SUCCESS) return std::nullopt;
  return IndexedText{text.data(), text.size(), parser.structural_indexes.get(),
                     parser.n_structural_indexes};
}

namespace {

// What may come next inside a value.
enum class Expect { kValue, kKey, kFirstKey, kColon, kSeparator };

class OneValue {
 public:
  OneValue(std::string_view text, std::vector<uint32_t>& places) : text_(text), places_(places) {}

  Structure::Found Walk() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (IndexedText::IsSpace(c)) continue;
      places_.push_back(static_cast<uint32_t>(at_));
      if (!Take(c)) return at_ >= text_.size() ? Structure::Found::kCut : Structure::Found::kBroken;
      if (open_.empty()) {
        ++at_;
        return Structure::Found::kWhole;
      }
    }
    return Structure::Found::kCut;
  }
  size_t end() const { return at_; }

 private:
  // Leaves at_ on the last character of what it took.
  bool Take(char c) {
    switch (c) {
      case '{':
      case '[':
        if (expect_ != Expect::kValue || open_.size() >= IndexedText::kMostDepth) return false;
        open_ += c == '{' ? '}' : ']';
        expect_ = c == '{' ? Expect::kFirstKey : Expect::kValue;
        return true;
      case '}':
      case ']':
        // At the top level a closing bracket stands alone.
        if (open_.empty()) return true;
        if (open_.back() != c || expect_ == Expect::kColon) return false;
        open_.pop_back();
        expect_ = Expect::kSeparator;
        return true;
      case ',':
        if (open_.empty()) return true;
        if (expect_ != Expect::kSeparator) return false;
        expect_ = open_.back() == '}' ? Expect::kKey : Expect::kValue;
        return true;
      case ':':
        if (open_.empty()) return true;
        if (expect_ != Expect::kColon) return false;
        expect_ = Expect::kValue;
        return true;
      case '"':
        return TakeString();
      default:
        return TakeScalar();
    }
  }

  bool TakeString() {
    const bool key = expect_ == Expect::kKey || expect_ == Expect::kFirstKey;
    if (!key && expect_ != Expect::kValue) return false;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    expect_ = key ? Expect::kColon : Expect::kSeparator;
    return at_ < text_.size();
  }

  bool TakeScalar() {
    if (expect_ != Expect::kValue) return false;
    const size_t begin = at_;
    while (at_ < text_.size() && std::strchr("{}[],:\" \t\r\n", text_[at_]) == nullptr) ++at_;
    if (at_ == begin) return false;  // a NUL: strchr finds the string's end
    if (at_ >= text_.size() && !open_.empty()) return false;
    --at_;
    expect_ = Expect::kSeparator;
    return true;
  }

  std::string_view text_;
  std::vector<uint32_t>& places_;
  std::string open_;
  Expect expect_ = Expect::kValue;
  size_t at_ = 0;
};

}  // namespace

Structure::Found Structure::IndexOne(std::string_view text, IndexedText& one) {
  places_.clear();
  OneValue value(text, places_);
  const Found found = value.Walk();
  one = {text.data(), std::min(value.end(), text.size()), places_.data(), places_.size()};
  return found;
}

namespace {

std::optional<uint32_t> Hex4(std::string_view raw, size_t at) {
  if (at + 4 > raw.size()) return std::nullopt;
  uint32_t value = 0;
  for (const char c : raw.substr(at, 4)) {
    value <<= 4;
    if (c >= '0' && c <= '9') {
      value += static_cast<uint32_t>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      value += static_cast<uint32_t>((c | 0x20) - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

// The escape \uXXXX whose digits begin at `at`; leaves `at` after it and after its second half.
bool AppendCode(std::string_view raw, size_t& at, std::string& text) {
  const std::optional<uint32_t> first = Hex4(raw, at);
  if (!first) return false;
  at += 4;
  uint32_t code = *first;
  if (code >= 0xd800 && code < 0xe000) {
    const bool high = code < 0xdc00 && raw.substr(at, 2) == "\\u";
    const std::optional<uint32_t> second = high ? Hex4(raw, at + 2) : std::nullopt;
    if (second && *second >= 0xdc00 && *second < 0xe000) {
      at += 6;
      code = 0x10000 + ((code - 0xd800) << 10) + (*second - 0xdc00);
    } else {
      code = 0xfffd;
    }
  }
  AppendUtf8(code, text);
  return true;
}

}  // namespace

std::string Unescaped(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i++];
      continue;
    }
    const char escaped = raw[i + 1];
    i += 2;
    switch (escaped) {
      case '"':
      case '\\':
      case '/':
        text += escaped;
        break;
      case 'b':
        text += '\b';
        break;
      case 'f':
        text += '\f';
        break;
      case 'n':
        text += '\n';
        break;
      case 'r':
        text += '\r';
        break;
      case 't':
        text += '\t';
        break;
      default:
        if (escaped != 'u' || !AppendCode(raw, i, text)) {
          text += '\\';
          text += escaped;
        }
    }
  }
  return text;
}

namespace {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// mantissa x 10^exponent, with as many digits as fit; `next_digit` is the first that did not.
struct Decimal {
  uint64_t mantissa = 0;
  int exponent = 0;
  int next_digit = -1;
  bool negative = false;
};

constexpr uint64_t kMost = ~uint64_t{0};
// Whether one more digit fits.
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

// The number times 10^shift, rounded to a whole number.
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
  // Nearly always: digits, and a decimal point with up to three more.
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
