#include "analyzer/importers/chrome/event.h"

namespace stallscope::importers::chrome {
namespace {

// The field that a key stands for; null for those that nobody needs.
std::string_view* FieldOf(std::string_view key, Event& event) {
  switch (key.size()) {
    case 2:
      if (key == "ph") return &event.phase;
      if (key == "ts") return &event.time;
      if (key == "id") return &event.id;
      return nullptr;
    case 3:
      if (key == "cat") return &event.category;
      if (key == "pid") return &event.process;
      if (key == "tid") return &event.thread;
      if (key == "dur") return &event.duration;
      return nullptr;
    case 4:
      return key == "name" ? &event.name : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

Parsed ParseEvent(const IndexedText& text, size_t& i, Event& event) {
  event = {};
  event.text = &text;
  const size_t count = text.count;
  size_t at = i;
  if (at >= count) return Parsed::kCut;
  if (text.At(at) != '{') return Parsed::kBroken;
  ++at;
  for (;;) {
    if (at >= count) return Parsed::kCut;
    const char c = text.text[text.index[at]];
    if (c == '}') {
      i = at + 1;
      return Parsed::kWhole;
    }
    if (c == ',') {  // also one too many
      ++at;
      continue;
    }
    if (c != '"') return Parsed::kBroken;
    if (at + 2 >= count) return Parsed::kCut;
    if (text.text[text.index[at + 1]] != ':') return Parsed::kBroken;
    const std::string_view key = text.ScalarAt(at).text;
    const size_t value = at + 2;
    const char first = text.text[text.index[value]];
    if (first == '{' || first == '[') {
      if (first == '{' && key == "args") event.arguments = value;
      const size_t next = text.Skip(value);
      if (next == IndexedText::kCut) return Parsed::kCut;
      if (next == IndexedText::kBroken) return Parsed::kBroken;
      at = next;
      continue;
    }
    if (first == '}' || first == ']' || first == ',' || first == ':') return Parsed::kBroken;
    if (value + 1 >= count) return Parsed::kCut;
    if (std::string_view* field = FieldOf(key, event)) *field = text.ScalarAt(value).text;
    at = value + 1;
    const char after = text.text[text.index[at]];
    if (after != ',' && after != '}') return Parsed::kBroken;
  }
}

}  // namespace stallscope::importers::chrome
