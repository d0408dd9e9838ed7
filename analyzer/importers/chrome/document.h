// A file of trace events from front to back: the members of its head, and its events one by one.
// One thread at a time.
//
// Both forms are read: an object with "traceEvents", whose other members may stand before or behind
// them, and a bare array, whose closing bracket may be missing. What is broken costs the event that
// it stands in, and is counted; the reader goes on at the next one.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DOCUMENT_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DOCUMENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/importers/chrome/event.h"
#include "analyzer/importers/chrome/structure.h"
#include "analyzer/importers/chrome/windows.h"

namespace stallscope::importers::chrome {

// Who takes what is in a document. Views are good for the call only.
class DocumentVisitor {
 public:
  virtual ~DocumentVisitor() = default;
  virtual void OnEvent(const Event& event) = 0;
  // Whether it wants a member beside the events that is an object or an array; scalars come anyway.
  virtual bool Wants(std::string_view key) const = 0;
  // Such a member, as JSON text.
  virtual void OnMember(std::string_view key, std::string_view value) = 0;
  // Bytes of the unpacked file that could not be read; `cut`: the file ends there.
  virtual void OnDamage(uint64_t offset, uint64_t bytes, const std::string& reason, bool cut) = 0;
};

class Document {
 public:
  explicit Document(ByteSource& source) : source_(source), windows_(source) {}

  // An error is the disk's or a limit's; everything less goes to OnDamage.
  Status Read(DocumentVisitor& visitor);
  // Whether an array of events was found at all.
  bool has_events() const { return has_events_; }

 private:
  enum class State : uint8_t { kStart, kMembers, kSkip, kEvents, kDone };

  // Goes through the text as far as it is whole; returns how many bytes are done with.
  size_t ReadSound(const IndexedText& text, DocumentVisitor& visitor);
  // `base`: where the text begins in the window.
  size_t ReadBroken(std::string_view text, DocumentVisitor& visitor, size_t base);
  size_t ReadBrokenMember(std::string_view text, DocumentVisitor& visitor);
  size_t SkipBroken(std::string_view text);
  // Takes what begins at place i: kWhole, and i is behind it.
  Parsed Take(const IndexedText& text, size_t& i, DocumentVisitor& visitor);
  Parsed TakeMember(const IndexedText& text, size_t& i, DocumentVisitor& visitor);
  // Passes over what is broken at this place of the window, up to where the next event may begin.
  size_t PassOver(size_t at, DocumentVisitor& visitor);
  // What stands behind the end of the document; blanks and the padding of archivers are nothing.
  void PassOverRest(DocumentVisitor& visitor);
  void SayHowItEnds(DocumentVisitor& visitor);
  // The index of a window stays as large as it once was.
  void ChargeIndex(size_t places);

  ByteSource& source_;
  Windows windows_;
  Structure structure_;
  State state_ = State::kStart;
  size_t skip_depth_ = 0;   // brackets that are open in a member that nobody wants
  bool in_object_ = false;  // the events are a member
  bool has_events_ = false;
  bool passing_over_ = false;  // what is broken goes on in the next window
  bool told_rest_ = false;     // that something stands behind the end
  size_t most_places_ = 0;     // that a window has had
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DOCUMENT_H_
