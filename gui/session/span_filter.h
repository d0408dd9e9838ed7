// The words of a filter over spans, compiled: what text says is decided once for a track and a
// class of spans, what figures say for each span. Private to the room. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "gui/session/span_table.h"

namespace stallscope::session {

class SpanFilter {
 public:
  // `start` counts from the run's start. kUsage where a word makes no sense.
  static Result<SpanFilter> Parse(std::string_view text, const model::Run& run);

  // By track, kind, name and cause alone.
  bool TextMatches(const SpanRow& row) const;
  // By the figures of the row.
  bool FiguresMatch(const SpanRow& row) const;
  bool has_text() const { return !texts_.empty(); }
  bool has_figures() const { return !figures_.empty(); }

 private:
  enum class Field : uint8_t { kAny, kTrack, kStage, kKind, kName, kCause };
  enum class Quantity : uint8_t { kStart, kDuration, kBytes, kItem };
  enum class Relation : uint8_t { kEqual, kLess, kAtMost, kMore, kAtLeast };
  struct TextTerm {
    Field field = Field::kAny;
    std::string text;  // in lower case
    bool negated = false;
  };
  struct FigureTerm {
    Quantity quantity = Quantity::kDuration;
    Relation relation = Relation::kEqual;
    double value = 0;
    bool negated = false;
  };

  static Result<FigureTerm> ParseFigure(std::string_view word, size_t relation_at,
                                        Quantity quantity, const model::Run& run);
  static bool Holds(const FigureTerm& term, const SpanRow& row);

  std::vector<TextTerm> texts_;
  std::vector<FigureTerm> figures_;
};

}  // namespace stallscope::session
