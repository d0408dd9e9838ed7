#include "analyzer/importers/chrome/document.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "analyzer/importers/chrome/json.h"

namespace stallscope::importers::chrome {
namespace {

constexpr size_t kMostKey = 64;
constexpr size_t kMostSpace = 256;

size_t SkipSpace(std::string_view text, size_t at) {
  const size_t end = std::min(text.size(), at + kMostSpace);
  while (at < end && IndexedText::IsSpace(text[at])) ++at;
  return at;
}

// A quoted key and its colon.
bool IsKey(std::string_view text, size_t at) {
  if (at >= text.size() || text[at] != '"') return false;
  size_t end = at + 1;
  while (end < text.size() && end - at <= kMostKey) {
    const char c = text[end];
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.' || c == ' ' || c == '/';
    if (!plain) break;
    ++end;
  }
  if (end == at + 1 || end >= text.size() || text[end] != '"') return false;
  end = SkipSpace(text, end + 1);
  return end < text.size() && text[end] == ':';
}

bool BeginsObject(std::string_view text, size_t at) {
  return at < text.size() && text[at] == '{' && IsKey(text, SkipSpace(text, at + 1));
}

// The comma at `comma` separates two values of which the second is an object or a member.
bool Separates(std::string_view text, size_t comma) {
  size_t before = comma;
  while (before > 0 && comma - before < kMostSpace && IndexedText::IsSpace(text[before - 1])) {
    --before;
  }
  if (before == 0 || (text[before - 1] != '}' && text[before - 1] != ']')) return false;
  const size_t after = SkipSpace(text, comma + 1);
  return IsKey(text, after) || BeginsObject(text, after);
}

// The field of a key; null for those that are not needed.
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

size_t NextEvent(std::string_view text, size_t from) {
  for (size_t brace = text.find('{', from); brace != std::string_view::npos;
       brace = text.find('{', brace + 1)) {
    size_t before = brace;
    while (before > from && IndexedText::IsSpace(text[before - 1])) --before;
    if (before <= from || text[before - 1] != ',') continue;
    --before;
    while (before > from && IndexedText::IsSpace(text[before - 1])) --before;
    if (before > from && text[before - 1] == '}' && BeginsObject(text, brace)) return brace;
  }
  return std::string_view::npos;
}

Status Windows::Fill() {
  if (begin_ == 0 && end_ != 0) {
    if (wanted_ >= kMostBytes) {
      return Error{ErrorKind::kInput, "a single value of this JSON is longer than 16 MiB",
                   source_.path() + ", offset " + std::to_string(offset()),
                   "no profiler writes such a trace"};
    }
    wanted_ *= 2;
  } else {
    wanted_ = window_bytes_;
  }
  const size_t left = end_ - begin_;
  const size_t size = std::max(wanted_, left + window_bytes_ / 2);
  if (buffer_.size() < size) {
    source_.allowance().Charge(size - buffer_.size());
    STALLSCOPE_RETURN_IF_ERROR(source_.CheckAllowance());
    Column<char> larger(size);
    if (left != 0) std::memcpy(larger.data(), buffer_.data() + begin_, left);
    buffer_ = std::move(larger);
  } else if (left != 0 && begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, left);
  }
  base_ += begin_;
  begin_ = 0;
  end_ = left;
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, source_.Read(buffer_.data() + end_, size - end_));
  at_end_ = got < size - end_;
  end_ += got;
  return {};
}

std::string_view Windows::Whole() const {
  const std::string_view all = All();
  if (at_end_) return all;
  for (size_t end = all.size(); end > 0;) {
    const size_t comma = all.rfind(',', end - 1);
    if (comma == std::string_view::npos) break;
    if (Separates(all, comma)) return all.substr(0, comma + 1);
    end = comma;
  }
  return {};
}

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
    if (c == ',') {  // even one too many
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

bool Document::Enter(std::string_view key, char first, const DocumentVisitor& visitor) {
  if (key == "traceEvents" && first == '[') {
    state_ = State::kEvents;
    has_events_ = true;
    return true;
  }
  if ((first != '{' && first != '[') || visitor.Wants(key)) return false;
  state_ = State::kSkip;
  skip_depth_ = 1;
  return true;
}

Parsed Document::TakeMember(const IndexedText& text, size_t& i, DocumentVisitor& visitor) {
  if (i + 2 >= text.count) return Parsed::kCut;
  if (text.At(i + 1) != ':') return Parsed::kBroken;
  const std::string_view key = text.ScalarAt(i).text;
  const size_t value = i + 2;
  if (Enter(key, text.At(value), visitor)) {
    i = value + 1;
    return Parsed::kWhole;
  }
  const size_t next = text.Skip(value);
  if (next == IndexedText::kBroken) return Parsed::kBroken;
  // A scalar at the very end may continue.
  if (next == IndexedText::kCut || (next == text.count && !windows_.at_end())) return Parsed::kCut;
  const size_t begin = text.index[value];
  size_t end = next < text.count ? text.index[next] : text.size;
  while (end > begin && IndexedText::IsSpace(text.text[end - 1])) --end;
  visitor.OnMember(key, std::string_view(text.text + begin, end - begin));
  i = next;
  return Parsed::kWhole;
}

Parsed Document::Take(const IndexedText& text, size_t& i, DocumentVisitor& visitor) {
  const char c = text.At(i);
  switch (state_) {
    case State::kStart:
      if (c != '{' && c != '[') return Parsed::kBroken;
      in_object_ = c == '{';
      has_events_ = !in_object_;
      state_ = in_object_ ? State::kMembers : State::kEvents;
      ++i;
      return Parsed::kWhole;
    case State::kMembers:
      if (c == '"') return TakeMember(text, i, visitor);
      if (c != ',' && c != '}') return Parsed::kBroken;
      if (c == '}') state_ = State::kDone;
      ++i;
      return Parsed::kWhole;
    case State::kSkip:
      if (c == '{' || c == '[') ++skip_depth_;
      if ((c == '}' || c == ']') && --skip_depth_ == 0) state_ = State::kMembers;
      ++i;
      return Parsed::kWhole;
    case State::kEvents: {
      if (c == ',') {
        ++i;
        return Parsed::kWhole;
      }
      if (c == ']') {
        state_ = in_object_ ? State::kMembers : State::kDone;
        ++i;
        return Parsed::kWhole;
      }
      Event event;
      const Parsed parsed = ParseEvent(text, i, event);
      if (parsed == Parsed::kWhole) visitor.OnEvent(event);
      return parsed;
    }
    case State::kDone:  // PassOverRest takes what follows
      break;
  }
  return Parsed::kBroken;
}

size_t Document::PassOver(size_t at, DocumentVisitor& visitor) {
  const std::string_view text = windows_.All();
  size_t next = NextEvent(text, at);
  const bool found = next != std::string_view::npos;
  if (!found) {
    // The window's end may cut the place in two: its last bytes are looked at again.
    constexpr size_t kOverlap = 1024;
    next = windows_.at_end() ? text.size()
                             : std::max(at, text.size() - std::min(text.size(), kOverlap));
  }
  visitor.OnDamage(windows_.offset() + at, next - at,
                   passing_over_ ? "" : "skipped something that is not an event", false);
  passing_over_ = !found;
  // Past anything that might have been a member of the head.
  if (found && state_ != State::kEvents) {
    state_ = State::kEvents;
    has_events_ = true;
  }
  return next;
}

size_t Document::ReadSound(const IndexedText& text, DocumentVisitor& visitor) {
  const std::string_view whole(text.text, text.size);
  size_t i = 0;
  while (i < text.count) {
    if (state_ == State::kDone) return text.index[i];
    const size_t before = i;
    const Parsed parsed = Take(text, i, visitor);
    if (parsed == Parsed::kWhole) continue;
    if (parsed == Parsed::kCut) return text.index[before];
    const size_t next = PassOver(text.index[before], visitor);
    // It may end anywhere in the rest of the window.
    if (next >= whole.size() || passing_over_) return next;
    // The index is still right if the next event's brace is one of its places: then no quote was
    // unbalanced.
    const uint32_t* end = text.index + text.count;
    const uint32_t* place = std::lower_bound(text.index, end, next);
    if (place == end || *place != next) return next + ReadBroken(whole.substr(next), visitor, next);
    i = static_cast<size_t>(place - text.index);
  }
  return text.size;
}

size_t Document::ReadBroken(std::string_view text, DocumentVisitor& visitor, size_t base) {
  size_t at = 0;
  while (at < text.size() && state_ != State::kDone) {
    const std::string_view rest = text.substr(at);
    if (IndexedText::IsSpace(rest[0])) {
      ++at;
      continue;
    }
    if (state_ == State::kSkip) {
      at += SkipBroken(rest);
      continue;
    }
    if (state_ == State::kStart && (rest[0] == '{' || rest[0] == '[')) {
      const uint32_t first = 0;
      size_t i = 0;
      (void)Take({rest.data(), 1, &first, 1}, i, visitor);
      ++at;
      continue;
    }
    IndexedText one;
    size_t done = 0;
    if (state_ == State::kMembers && rest[0] == '"') {
      done = ReadBrokenMember(rest, visitor);
      if (done == 0) return at;
    } else {
      const Structure::Found found = structure_.IndexOne(rest, one);
      if (found == Structure::Found::kCut) return at;
      size_t i = 0;
      if (found == Structure::Found::kWhole && Take(one, i, visitor) == Parsed::kWhole) {
        done = one.size;
      }
    }
    if (done == 0) {
      at = PassOver(base + at, visitor) - base;
      if (at >= text.size() || passing_over_) return at;
    }
    at += done;
  }
  return at;
}

// `"key": value` in text that is not valid as a whole; 0 if the text ends inside it.
size_t Document::ReadBrokenMember(std::string_view text, DocumentVisitor& visitor) {
  IndexedText key;
  if (structure_.IndexOne(text, key) != Structure::Found::kWhole) return 0;
  const std::string name(key.ScalarAt(0).text);
  size_t at = key.size;
  while (at < text.size() && (IndexedText::IsSpace(text[at]) || text[at] == ':')) ++at;
  if (at >= text.size()) return 0;
  if (Enter(name, text[at], visitor)) return at + 1;
  IndexedText value;
  const Structure::Found found = structure_.IndexOne(text.substr(at), value);
  if (found == Structure::Found::kCut) return 0;
  const size_t end = at + std::max<size_t>(value.size, 1);
  if (found == Structure::Found::kWhole) {
    visitor.OnMember(name, text.substr(at, value.size));
  } else {
    const auto before = static_cast<uint64_t>(text.data() - windows_.All().data());
    visitor.OnDamage(windows_.offset() + before, end,
                     "a member next to the events could not be read", false);
  }
  return end;
}

// To the end of an unwanted member, one token at a time.
size_t Document::SkipBroken(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
      }
    } else if (c == '{' || c == '[') {
      ++skip_depth_;
    } else if ((c == '}' || c == ']') && --skip_depth_ == 0) {
      state_ = State::kMembers;
      return at + 1;
    }
  }
  return text.size();
}

void Document::SayHowItEnds(DocumentVisitor& visitor) {
  const std::string_view rest = windows_.All();
  const bool blank = std::all_of(rest.begin(), rest.end(), IndexedText::IsSpace);
  if (!blank && state_ != State::kDone) {
    visitor.OnDamage(windows_.offset(), rest.size(), "the file ends inside an event", true);
  } else if (state_ == State::kEvents && in_object_) {
    visitor.OnDamage(windows_.offset(), 0, "the file ends before its list of events does", true);
  } else if (state_ == State::kMembers || state_ == State::kSkip) {
    visitor.OnDamage(windows_.offset(), 0, "the file ends before its last brace", true);
  }
}

void Document::PassOverRest(DocumentVisitor& visitor) {
  const std::string_view rest = windows_.All();
  const auto* const first = std::find_if_not(
      rest.begin(), rest.end(), [](char c) { return IndexedText::IsSpace(c) || c == '\0'; });
  if (first != rest.end() || told_rest_) {
    const auto blank = static_cast<size_t>(told_rest_ ? 0 : first - rest.begin());
    visitor.OnDamage(windows_.offset() + blank, rest.size() - blank,
                     told_rest_ ? "" : "something follows the end of the trace", false);
    told_rest_ = true;
  }
  windows_.Consume(rest.size());
}

void Document::ChargeIndex(size_t places) {
  if (places <= most_places_) return;
  source_.allowance().Charge((places - most_places_) * sizeof(uint32_t));
  most_places_ = places;
}

Status Document::Read(DocumentVisitor& visitor) {
  for (;;) {
    STALLSCOPE_RETURN_IF_ERROR(windows_.Fill());
    if (windows_.at_end() && windows_.All().empty()) break;
    if (state_ == State::kDone) {
      PassOverRest(visitor);
      continue;
    }
    if (windows_.offset() == 0 && windows_.All().substr(0, 3) == "\xef\xbb\xbf") {
      windows_.Consume(3);
    }
    const std::string_view whole = windows_.Whole();
    size_t done = 0;
    if (passing_over_) {
      done = PassOver(0, visitor);
    } else if (!whole.empty()) {
      const std::optional<IndexedText> text = structure_.Index(whole);
      if (text) ChargeIndex(text->count);
      done = text ? ReadSound(*text, visitor) : ReadBroken(whole, visitor, 0);
    }
    STALLSCOPE_RETURN_IF_ERROR(source_.CheckAllowance());
    windows_.Consume(done);
    if (windows_.at_end() && done == 0) break;
  }
  SayHowItEnds(visitor);
  return {};
}

}  // namespace stallscope::importers::chrome
