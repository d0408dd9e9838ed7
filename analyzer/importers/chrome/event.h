// One trace event, as it stands in the text: views that are good until the window moves on.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_EVENT_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_EVENT_H_

#include <cstdint>
#include <string_view>

#include "analyzer/importers/chrome/indexed_text.h"

namespace stallscope::importers::chrome {

struct Event {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view process;  // numbers and texts alike
  std::string_view thread;
  std::string_view time;  // of these nothing where the event has none
  std::string_view duration;
  std::string_view id;
  const IndexedText* text = nullptr;
  size_t arguments = 0;  // the place of args' brace; 0 where it has none
};

enum class Parsed : uint8_t {
  kWhole,
  kCut,    // the text ends inside it
  kBroken  // it is no event: no object, or not well-formed
};

// Reads the event that begins at place i, and leaves i behind it where it is whole.
Parsed ParseEvent(const IndexedText& text, size_t& i, Event& event);

// Calls visit(key, place of the value) for each member of the object at place i, as far as it is
// well-formed. Keys are as they stand in the text.
template <class Visit>
void ForEachMember(const IndexedText& text, size_t i, Visit&& visit) {
  if (text.At(i) != '{') return;
  for (++i; text.At(i) == '"' && text.At(i + 1) == ':';) {
    const size_t value = i + 2;
    const size_t next = text.Skip(value);
    if (next == IndexedText::kCut || next == IndexedText::kBroken) return;
    visit(text.ScalarAt(i).text, value);
    if (text.At(next) != ',') return;
    i = next + 1;
  }
}
template <class Visit>
void ForEachArgument(const Event& event, Visit&& visit) {
  if (event.arguments != 0) ForEachMember(*event.text, event.arguments, visit);
}

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_EVENT_H_
