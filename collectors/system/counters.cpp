#include "collectors/system/counters.h"

namespace stallscope::system {
namespace {

struct Pattern {
  std::string_view head;         // before the placeholder
  std::string_view placeholder;  // with its brackets; empty where there is none
  std::string_view tail;
};

Pattern Split(std::string_view name) {
  const size_t open = name.find('<');
  if (open == std::string_view::npos) return {name, "", ""};
  const size_t close = name.find('>', open);
  return {name.substr(0, open), name.substr(open, close + 1 - open), name.substr(close + 1)};
}

bool Fits(std::string_view placeholder, std::string_view instance) {
  if (instance.empty()) return false;
  return placeholder == "<disk>" ||
         instance.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string CounterName(const CounterRow& row, std::string_view instance) {
  const Pattern pattern = Split(row.name);
  if (pattern.placeholder.empty()) return row.name;
  return std::string(pattern.head) + std::string(instance) + std::string(pattern.tail);
}

const CounterRow* FindCounter(std::string_view name) {
  for (const CounterRow& row : kCounterTable) {
    const Pattern pattern = Split(row.name);
    if (pattern.placeholder.empty()) {
      if (name == row.name) return &row;
      continue;
    }
    const size_t fixed = pattern.head.size() + pattern.tail.size();
    if (name.size() <= fixed || !name.starts_with(pattern.head) || !name.ends_with(pattern.tail)) {
      continue;
    }
    if (Fits(pattern.placeholder, name.substr(pattern.head.size(), name.size() - fixed))) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace stallscope::system
