#include "analyzer/model/interner.h"

#include "analyzer/trace/limits.h"

namespace stallscope::model {

StringInterner::StringInterner(std::vector<std::string>& strings)
    : strings_(strings), numbers_(0, Hash{&strings}, Equal{&strings}) {
  for (uint32_t i = 0; i < strings.size(); ++i) numbers_.insert(i);
}

trace::StringId StringInterner::Intern(std::string_view text) {
  text = text.substr(0, trace::kMaxNameBytes);
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return trace::StringId{*found};
  if (strings_.size() >= trace::kMaxStrings) return trace::StringId::None();
  const auto number = static_cast<uint32_t>(strings_.size());
  strings_.emplace_back(text);
  numbers_.insert(number);
  return trace::StringId{number};
}

SpanClassInterner::SpanClassInterner(std::vector<trace::SpanClass>& classes) : classes_(classes) {
  for (size_t i = 0; i < classes.size(); ++i) {
    numbers_.emplace(classes[i], static_cast<uint16_t>(i));
  }
}

size_t SpanClassInterner::Hash::operator()(const trace::SpanClass& c) const {
  const uint64_t ids = uint64_t{c.stage.value} << 32 | c.queue.value;
  const uint64_t rest = static_cast<uint64_t>(c.kind) << 8 | static_cast<uint64_t>(c.cause) |
                        static_cast<uint64_t>(c.activity) << 16;
  const uint64_t mixed = (ids ^ rest << 20) * 0x9e3779b97f4a7c15u;
  return std::hash<uint64_t>()((mixed ^ (mixed >> 32) ^ c.name.value) * 0x9e3779b97f4a7c15u);
}

std::optional<uint16_t> SpanClassInterner::Intern(const trace::SpanClass& span_class) {
  const auto found = numbers_.find(span_class);
  if (found != numbers_.end()) return found->second;
  if (classes_.size() >= trace::kMaxSpanClasses) return std::nullopt;
  const auto number = static_cast<uint16_t>(classes_.size());
  classes_.push_back(span_class);
  numbers_.emplace(span_class, number);
  return number;
}

}  // namespace stallscope::model
