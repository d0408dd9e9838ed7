// JSON text: its structure, its strings and its numbers. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::importers::chrome {

// A scalar as written; of a string, what is between its quotes, with its escapes.
struct Scalar {
  std::string_view text;
  bool is_string = false;
};

struct IndexedText {
  const char* text = nullptr;
  size_t size = 0;
  const uint32_t* index = nullptr;
  size_t count = 0;

  // 0 past the end.
  char At(size_t i) const { return i < count ? text[index[i]] : '\0'; }
  size_t EndOf(size_t i) const { return i + 1 < count ? index[i + 1] : size; }

  // The scalar that begins at place i.
  Scalar ScalarAt(size_t i) const {
    size_t begin = index[i];
    size_t end = EndOf(i);
    while (end > begin + 1 && IsSpace(text[end - 1])) --end;
    if (text[begin] != '"') return {std::string_view(text + begin, end - begin), false};
    ++begin;
    if (end > begin && text[end - 1] == '"') --end;
    return {std::string_view(text + begin, end - begin), true};
  }

  // The place after the value that begins at place i. kCut if the text ends inside it, kBroken if
  // no value begins there or it nests more than 64 deep, which no trace does.
  static constexpr size_t kCut = 0;
  static constexpr size_t kBroken = ~size_t{0};
  size_t Skip(size_t i) const {
    int depth = 0;
    for (; i < count; ++i) {
      const char c = text[index[i]];
      if (c == '{' || c == '[') {
        if (++depth > kMostDepth) return kBroken;
      } else if (c == '}' || c == ']') {
        if (--depth <= 0) return depth == 0 ? i + 1 : kBroken;
      } else if (depth == 0) {
        return c == ',' || c == ':' ? kBroken : i + 1;
      }
    }
    return kCut;
  }
  static constexpr int kMostDepth = 64;

  static bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
};

// Finds the structure of a piece of JSON: with simdjson's first stage if the text is valid, else by
// hand, one value at a time.
//
// simdjson's own parsers require a whole document and reject it at its first flaw. Its first stage,
// where its speed comes from, tolerates open brackets and leaves the walk through the events to us.
class Structure {
 public:
  Structure();
  ~Structure();
  Structure(const Structure&) = delete;
  Structure& operator=(const Structure&) = delete;

  // The index of all of `text`, valid until the next call; the text must end outside any string.
  // Nothing if it has control characters in strings or is not UTF-8.
  std::optional<IndexedText> Index(std::string_view text);

  enum class Found { kWhole, kCut, kBroken };
  // The index of the value (or of the single separator) that `text` begins with, after white space,
  // whatever bytes its strings hold. kCut if the text ends inside it, kBroken if it cannot be JSON;
  // `one` is as far as it got.
  Found IndexOne(std::string_view text, IndexedText& one);

 private:
  struct Simd;
  std::unique_ptr<Simd> simd_;
  std::vector<uint32_t> places_;
};

// Resolves the escapes of what is between a string's quotes. An invalid escape stays as it is; half
// of a surrogate pair becomes U+FFFD.
std::string Unescaped(std::string_view raw);

// The time of an event, which is in decimal microseconds: 1428625731896179 for "1428625731896.179".
// Never by way of a double, which holds 53 bits where an epoch in nanoseconds needs 61. Fractions
// of a nanosecond are rounded, halves up; exponents are allowed. Nothing if it is not a number or
// is beyond the times of limits.h.
std::optional<int64_t> NanosecondsOf(std::string_view microseconds);

// A whole number, even if written as 7.0; nothing if it does not fit.
std::optional<uint64_t> WholeNumber(std::string_view text);

}  // namespace stallscope::importers::chrome
