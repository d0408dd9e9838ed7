#include "analyzer/importers/chrome/windows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "analyzer/importers/chrome/indexed_text.h"

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

}  // namespace stallscope::importers::chrome
