// A piece of JSON with the places of its structure: where each bracket, comma and colon stands, and
// where each string and other scalar begins. Plain views; whoever made it keeps text and index.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_INDEXED_TEXT_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_INDEXED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

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

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_INDEXED_TEXT_H_
