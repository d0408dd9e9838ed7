// A piece of JSON with the places of its structure: where each bracket, comma and colon stands, and
// where each string and other scalar begins. Plain views; whoever made it keeps text and index.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_JSON_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_JSON_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::importers::chrome {

// A scalar, as it stands in the text; of a string what lies between its quotes, escapes and all.
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

  // The place behind the value that begins at place i. kCut where the text ends inside it, kBroken
  // where no value begins there or it nests more than 64 deep: no trace's do.
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

// Finds the structure of a piece of JSON: simdjson's first stage where the text is sound, and one
// value at a time by hand where it is not. One thread at a time.
//
// simdjson's own parsers want a whole document and give it up at its first flaw. Its first stage is
// where its speed comes from, does not care for brackets that are still open, and leaves the walk
// through the events to us.

class Structure {
 public:
  Structure();
  ~Structure();
  Structure(const Structure&) = delete;
  Structure& operator=(const Structure&) = delete;

  // The index of all of `text`, good until the next call; both must end outside of any string.
  // Nothing where the text has control characters in strings or is not UTF-8.
  std::optional<IndexedText> Index(std::string_view text);

  enum class Found { kWhole, kCut, kBroken };
  // The index of the value (or, at a separator, of that alone) that `text` begins with, behind
  // white space: whatever bytes its strings hold. kCut where the text ends inside it, kBroken where
  // it cannot be JSON; `one` is as far as it went.
  Found IndexOne(std::string_view text, IndexedText& one);

 private:
  struct Simd;
  std::unique_ptr<Simd> simd_;
  std::vector<uint32_t> places_;
};

// JSON strings as what they mean. Any thread.

// What stands between a string's quotes, without its escapes. An escape that is none stays as it
// is; half of a surrogate pair becomes U+FFFD.
std::string Unescaped(std::string_view raw);

// Times of trace events, which are decimal microseconds, as whole nanoseconds. A double holds 53
// bits and an epoch in nanoseconds needs 61: it is never one. Any thread.

// "1428625731896.179" to 1428625731896179. What is finer than a nanosecond is rounded to the
// nearest one, halves up. Exponents are understood. Nothing for what is no number or lies beyond
// the times of limits.h.
std::optional<int64_t> NanosecondsOf(std::string_view microseconds);

// A whole number, also where a file writes it as 7.0; nothing where it does not fit.
std::optional<uint64_t> WholeNumber(std::string_view text);

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_JSON_H_
