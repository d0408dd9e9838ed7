#include "gui/session/span_filter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace stallscope::session {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string Lowered(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), &Lower);
  return lower;
}

bool Contains(std::string_view text, std::string_view lower) {
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(),
                     [](char a, char b) { return Lower(a) == b; }) != text.end();
}

bool Equals(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return Lower(a) == b; });
}

Error NoSense(std::string_view word, std::string hint) {
  return {ErrorKind::kUsage, "the filter's word '" + std::string(word) + "' is invalid", "",
          std::move(hint)};
}

// "2ms" in nanoseconds, "4KiB" in bytes; a bare number is taken as it is.
std::optional<double> ParseAmount(std::string_view text) {
  double value = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc()) return std::nullopt;
  const std::string unit = Lowered({rest, static_cast<size_t>(text.data() + text.size() - rest)});
  constexpr std::array<std::pair<std::string_view, double>, 12> kUnits = {{{"", 1},
                                                                           {"ns", 1},
                                                                           {"us", 1e3},
                                                                           {"ms", 1e6},
                                                                           {"s", 1e9},
                                                                           {"b", 1},
                                                                           {"kb", 1e3},
                                                                           {"mb", 1e6},
                                                                           {"gb", 1e9},
                                                                           {"kib", 1024},
                                                                           {"mib", 1048576},
                                                                           {"gib", 1073741824}}};
  for (const auto& [word, factor] : kUnits) {
    if (unit == word) return value * factor;
  }
  return std::nullopt;
}

}  // namespace

Result<SpanFilter::FigureTerm> SpanFilter::ParseFigure(std::string_view word, size_t relation_at,
                                                       Quantity quantity, const model::Run& run) {
  FigureTerm term;
  term.quantity = quantity;
  size_t length = 1;
  switch (word[relation_at]) {
    case '<':
      term.relation = Relation::kLess;
      break;
    case '>':
      term.relation = Relation::kMore;
      break;
    default:
      term.relation = Relation::kEqual;
  }
  if (word[relation_at] != '=' && relation_at + 1 < word.size() && word[relation_at + 1] == '=') {
    term.relation = term.relation == Relation::kLess ? Relation::kAtMost : Relation::kAtLeast;
    length = 2;
  }
  const auto value = ParseAmount(word.substr(relation_at + length));
  if (!value.has_value()) {
    return NoSense(word, "give a number with a unit, such as duration>2ms or bytes>=4KiB");
  }
  term.value = *value;
  if (quantity == Quantity::kStart) {
    term.value += static_cast<double>(model::WindowOf(run).start_ns);
  }
  return term;
}

Result<SpanFilter> SpanFilter::Parse(std::string_view text, const model::Run& run) {
  constexpr std::array<std::pair<std::string_view, Quantity>, 4> kQuantities = {
      {{"start", Quantity::kStart},
       {"duration", Quantity::kDuration},
       {"bytes", Quantity::kBytes},
       {"item", Quantity::kItem}}};
  constexpr std::array<std::pair<std::string_view, Field>, 5> kFields = {
      {{"track", Field::kTrack},
       {"stage", Field::kStage},
       {"kind", Field::kKind},
       {"name", Field::kName},
       {"cause", Field::kCause}}};
  SpanFilter filter;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, end - at);
    at = end + 1;
    const bool negated = word.size() > 1 && word.front() == '-';
    if (negated) word.remove_prefix(1);
    if (word.empty()) continue;
    const size_t relation = word.find_first_of("<>=");
    const std::string key = Lowered(word.substr(0, std::min(relation, word.size())));
    const auto named = [&](const auto& pair) { return pair.first == key; };
    const auto* const quantity = std::find_if(kQuantities.begin(), kQuantities.end(), named);
    const auto* const field = std::find_if(kFields.begin(), kFields.end(), named);
    if (relation == std::string_view::npos) {
      filter.texts_.push_back({Field::kAny, Lowered(word), negated});
    } else if (quantity != kQuantities.end()) {
      STALLSCOPE_ASSIGN_OR_RETURN(FigureTerm term,
                                  ParseFigure(word, relation, quantity->second, run));
      term.negated = negated;
      filter.figures_.push_back(term);
    } else if (field != kFields.end() && word[relation] == '=') {
      filter.texts_.push_back({field->second, Lowered(word.substr(relation + 1)), negated});
    } else {
      return NoSense(word,
                     "use start, duration, bytes or item with <, <=, =, >= or >, or "
                     "track, stage, kind, name or cause with =");
    }
  }
  return filter;
}

bool SpanFilter::TextMatches(const SpanRow& row) const {
  return std::all_of(texts_.begin(), texts_.end(), [&](const TextTerm& term) {
    bool matches = false;
    switch (term.field) {
      case Field::kAny:
        matches = Contains(row.track, term.text) || Contains(row.kind, term.text) ||
                  Contains(row.name, term.text) || Contains(row.cause, term.text);
        break;
      case Field::kTrack:
        matches = Contains(row.track, term.text);
        break;
      case Field::kStage:
        matches = row.stage.known() && Equals(row.name, term.text);
        break;
      case Field::kKind:
        matches = Equals(row.kind, term.text);
        break;
      case Field::kName:
        matches = Contains(row.name, term.text);
        break;
      case Field::kCause:
        matches = Equals(row.cause, term.text);
        break;
    }
    return matches != term.negated;
  });
}

bool SpanFilter::Holds(const FigureTerm& term, const SpanRow& row) {
  double value = 0;
  switch (term.quantity) {
    case Quantity::kStart:
      value = static_cast<double>(row.start_ns);
      break;
    case Quantity::kDuration:
      value = static_cast<double>(row.duration_ns);
      break;
    case Quantity::kBytes:
      value = static_cast<double>(row.bytes);
      break;
    case Quantity::kItem:
      if (!row.item.known()) return false;
      value = static_cast<double>(row.item.value);
      break;
  }
  switch (term.relation) {
    case Relation::kEqual:
      return value == term.value;
    case Relation::kLess:
      return value < term.value;
    case Relation::kAtMost:
      return value <= term.value;
    case Relation::kMore:
      return value > term.value;
    case Relation::kAtLeast:
      return value >= term.value;
  }
  return false;
}

bool SpanFilter::FiguresMatch(const SpanRow& row) const {
  return std::all_of(figures_.begin(), figures_.end(),
                     [&](const FigureTerm& term) { return Holds(term, row) != term.negated; });
}

}  // namespace stallscope::session
