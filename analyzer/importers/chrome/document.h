// A file of trace events from front to back: the members of its head, and its events one by one.
// One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/base/column.h"
#include "analyzer/base/result.h"
#include "analyzer/importers/chrome/json.h"
#include "analyzer/importers/foreign/byte_source.h"

namespace stallscope::importers::chrome {

class Windows {
 public:
  // A window and the index of its structure fit into a core's cache. A small file's is smaller.
  static constexpr size_t kWindowBytes = size_t{256} << 10;
  // A longer event or head member is an error.
  static constexpr size_t kMostBytes = size_t{16} << 20;

  explicit Windows(ByteSource& source)
      : source_(source), window_bytes_(source.BytesAtOnce(kWindowBytes)) {}

  // Reads on after what Consume() left. The window grows if nothing was consumed. Fails if the
  // source does, or if a value is longer than kMostBytes.
  Status Fill();
  // The available text, cut where no string can be open: after "}," or "]," followed by a key or an
  // object's first key, since a quote inside a string would be escaped. Empty if there is no such
  // place yet. At the end of the file, all of it.
  std::string_view Whole() const;
  // The same, uncut: it may end inside a string.
  std::string_view All() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void Consume(size_t bytes) { begin_ += bytes; }

  // Of the next byte, in the unpacked file.
  uint64_t offset() const { return base_ + begin_; }
  bool at_end() const { return at_end_; }

 private:
  ByteSource& source_;
  const size_t window_bytes_;
  Column<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t wanted_ = window_bytes_;
  uint64_t base_ = 0;  // of the buffer's first byte
  bool at_end_ = false;
};

// Where the next event may begin after `from`: at a brace that follows "}," and has a key. npos if
// there is none.
size_t NextEvent(std::string_view text, size_t from);

// One trace event as written: views that are valid until the window moves on.
struct Event {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view process;  // numbers and texts alike
  std::string_view thread;
  std::string_view time;  // empty, like the next two, if the event has none
  std::string_view duration;
  std::string_view id;
  const IndexedText* text = nullptr;
  size_t arguments = 0;  // the place of args' brace; 0: none
};

enum class Parsed : uint8_t {
  kWhole,
  kCut,    // the text ends inside it
  kBroken  // not an event: no object, or malformed
};

// Reads the event that begins at place i, and leaves i after it if it is whole.
Parsed ParseEvent(const IndexedText& text, size_t& i, Event& event);

// Calls visit(key, place of the value) for each member of the object at place i, as far as it is
// well-formed. Keys are as written.
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

// A file of trace events from front to back: the members of its head, and its events one by one.
// One thread at a time.
//
// Both forms are read: an object with "traceEvents", whose other members may stand before or behind
// them, and a bare array, whose closing bracket may be missing. What is broken costs the event that
// it stands in, and is counted; the reader goes on at the next one.

// Receives what is in a document. Views are valid during the call only.
class DocumentVisitor {
 public:
  virtual ~DocumentVisitor() = default;
  virtual void OnEvent(const Event& event) = 0;
  // Whether it wants a member that is an object or an array; scalars always come.
  virtual bool Wants(std::string_view key) const = 0;
  // Such a member, as JSON text.
  virtual void OnMember(std::string_view key, std::string_view value) = 0;
  // Bytes of the unpacked file that could not be read; `cut`: the file ends there.
  virtual void OnDamage(uint64_t offset, uint64_t bytes, const std::string& reason, bool cut) = 0;
};

class Document {
 public:
  explicit Document(ByteSource& source) : source_(source), windows_(source) {}

  // Fails if the disk does, or past a limit; everything less goes to OnDamage.
  Status Read(DocumentVisitor& visitor);
  // Whether an array of events was found at all.
  bool has_events() const { return has_events_; }

 private:
  enum class State : uint8_t { kStart, kMembers, kSkip, kEvents, kDone };

  // Goes through the text as far as it is whole; returns how many bytes are done.
  size_t ReadSound(const IndexedText& text, DocumentVisitor& visitor);
  // `base`: where the text begins in the window.
  size_t ReadBroken(std::string_view text, DocumentVisitor& visitor, size_t base);
  size_t ReadBrokenMember(std::string_view text, DocumentVisitor& visitor);
  size_t SkipBroken(std::string_view text);
  // Takes what begins at place i; if kWhole, i is after it.
  Parsed Take(const IndexedText& text, size_t& i, DocumentVisitor& visitor);
  // Steps into a member that is the list of events, or an unwanted object or array.
  bool Enter(std::string_view key, char first, const DocumentVisitor& visitor);
  Parsed TakeMember(const IndexedText& text, size_t& i, DocumentVisitor& visitor);
  // Skips what is broken at this place of the window, up to where the next event may begin.
  size_t PassOver(size_t at, DocumentVisitor& visitor);
  // What follows the end of the document; blanks and archivers' padding do not count.
  void PassOverRest(DocumentVisitor& visitor);
  void SayHowItEnds(DocumentVisitor& visitor);
  // A window's index stays as large as it once was.
  void ChargeIndex(size_t places);

  ByteSource& source_;
  Windows windows_;
  Structure structure_;
  State state_ = State::kStart;
  size_t skip_depth_ = 0;   // open brackets in an unwanted member
  bool in_object_ = false;  // the events are a member
  bool has_events_ = false;
  bool passing_over_ = false;  // the broken part continues in the next window
  bool told_rest_ = false;     // reported that something follows the end
  size_t most_places_ = 0;     // of any window so far
};

}  // namespace stallscope::importers::chrome
