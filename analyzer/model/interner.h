// Numbers texts and span classes: the same one always has the same number. The tables belong to the
// run; an interner is needed only while the run is made. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/trace/events.h"

namespace stallscope::model {

class StringInterner {
 public:
  // `strings` must outlive the interner and change through it only.
  explicit StringInterner(std::vector<std::string>& strings);
  // Text past kMaxNameBytes is cut. None once kMaxStrings are taken.
  trace::StringId Intern(std::string_view text);

 private:
  // Holds numbers, not texts: a million texts would otherwise be stored twice.
  struct Hash {
    using is_transparent = void;
    const std::vector<std::string>* strings;
    size_t operator()(uint32_t number) const { return (*this)((*strings)[number]); }
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Equal {
    using is_transparent = void;
    const std::vector<std::string>* strings;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(std::string_view a, uint32_t b) const { return a == (*strings)[b]; }
    bool operator()(uint32_t a, std::string_view b) const { return (*strings)[a] == b; }
  };

  std::vector<std::string>& strings_;
  std::unordered_set<uint32_t, Hash, Equal> numbers_;
};

class SpanClassInterner {
 public:
  // `classes` must outlive the interner and change through it only.
  explicit SpanClassInterner(std::vector<trace::SpanClass>& classes);
  // Nothing once kMaxSpanClasses are taken.
  std::optional<uint16_t> Intern(const trace::SpanClass& span_class);

 private:
  struct Hash {
    size_t operator()(const trace::SpanClass& c) const;
  };
  std::vector<trace::SpanClass>& classes_;
  std::unordered_map<trace::SpanClass, uint16_t, Hash> numbers_;
};

}  // namespace stallscope::model
