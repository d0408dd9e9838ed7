// Finds the structure of a piece of JSON: simdjson's first stage where the text is sound, and one
// value at a time by hand where it is not. One thread at a time.
//
// simdjson's own parsers want a whole document and give it up at its first flaw. Its first stage is
// where its speed comes from, does not care for brackets that are still open, and leaves the walk
// through the events to us.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_STRUCTURE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_STRUCTURE_H_

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/importers/chrome/indexed_text.h"

namespace stallscope::importers::chrome {

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

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_STRUCTURE_H_
