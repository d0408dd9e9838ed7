#include "collectors/system/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace stallscope::system {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n'; }

struct Range {
  uint64_t first;
  uint64_t last;
};

// Takes "3" or "3-7" and the comma behind it.
std::optional<Range> TakeRange(std::string_view& list) {
  const auto take = [&list]() -> std::optional<uint64_t> {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), number);
    if (error != std::errc()) return std::nullopt;
    list.remove_prefix(static_cast<size_t>(end - list.data()));
    return number;
  };
  const auto first = take();
  if (!first) return std::nullopt;
  constexpr uint64_t kMost = 1 << 20;  // cores; keeps a malformed list from overflowing a sum
  auto last = first;
  if (list.starts_with('-')) {
    list.remove_prefix(1);
    last = take();
    if (!last || *last < *first || *last > kMost) return std::nullopt;
  }
  if (list.starts_with(',')) {
    list.remove_prefix(1);
  } else if (!list.empty()) {
    return std::nullopt;
  }
  return Range{*first, *last};
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  return text;
}

}  // namespace

ProcFile::ProcFile(std::string path, size_t capacity)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) {
    error_ = errno;
  } else {
    text_.resize(capacity);
  }
}

ProcFile::~ProcFile() {
  if (fd_ >= 0) close(fd_);
}

ProcFile::ProcFile(ProcFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      error_(other.error_),
      damaged_(other.damaged_),
      text_(std::move(other.text_)) {}

ProcFile& ProcFile::operator=(ProcFile&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    path_ = std::move(other.path_);
    fd_ = std::exchange(other.fd_, -1);
    error_ = other.error_;
    damaged_ = other.damaged_;
    text_ = std::move(other.text_);
  }
  return *this;
}

std::optional<size_t> ProcFile::ReadFrom(size_t begin) {
  if (fd_ < 0) return std::nullopt;
  ssize_t got = 0;
  do {
    got = pread(fd_, text_.data() + begin, text_.size() - begin, static_cast<off_t>(begin));
  } while (got < 0 && errno == EINTR);
  error_ = got < 0 ? errno : 0;
  if (got < 0) return std::nullopt;
  return static_cast<size_t>(got);
}

std::optional<std::string_view> ProcFile::Read() {
  damaged_ = false;
  const auto size = ReadFrom(0);
  if (!size) return std::nullopt;
  return std::string_view(text_.data(), *size);
}

std::optional<std::string_view> ProcFile::ReadWhole() {
  constexpr size_t kMost = 8 << 20;  // /proc/cpuinfo of a thousand cores
  damaged_ = false;
  for (size_t size = 0;;) {
    const auto more = ReadFrom(size);
    if (!more) return std::nullopt;
    size += *more;
    if (*more == 0 || size >= kMost) return std::string_view(text_.data(), size);
    if (size == text_.size()) text_.resize(2 * size);
  }
}

std::string ProcFile::problem() const {
  if (error_ != 0) return path_ + ": " + std::strerror(error_);
  if (damaged_) return path_ + ": unknown format";
  return "";
}

std::string Below(const std::string& root, std::string_view path) {
  std::string below = root;
  while (below.ends_with('/')) below.pop_back();
  return below.append(path);
}

std::optional<std::string> ReadOnce(const std::string& path) {
  ProcFile file(path);
  const auto text = file.ReadWhole();
  if (!text) return std::nullopt;
  return std::string(*text);
}

std::optional<std::string_view> TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<std::string_view> TakeWord(std::string_view& text) {
  size_t begin = 0;
  while (begin < text.size() && IsSpace(text[begin])) ++begin;
  size_t end = begin;
  while (end < text.size() && !IsSpace(text[end])) ++end;
  if (begin == end) return std::nullopt;
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::optional<uint64_t> TakeNumber(std::string_view& text) {
  std::string_view rest = text;
  const auto word = TakeWord(rest);
  if (!word) return std::nullopt;
  uint64_t number = 0;
  const char* const past = word->data() + word->size();
  const auto [end, error] = std::from_chars(word->data(), past, number);
  if (error != std::errc() || end != past) return std::nullopt;
  text = rest;
  return number;
}

std::optional<uint64_t> FindNumber(std::string_view text, std::string_view key) {
  while (auto line = TakeLine(text)) {
    if (!line->starts_with(key)) continue;
    std::string_view rest = line->substr(key.size());
    if (rest.starts_with(':')) rest.remove_prefix(1);
    if (rest.empty() || !IsSpace(rest.front())) continue;
    return TakeNumber(rest);
  }
  return std::nullopt;
}

std::optional<uint64_t> OnlyNumber(std::string_view text) {
  auto line = TakeLine(text);
  if (!line || !text.empty()) return std::nullopt;
  const auto number = TakeNumber(*line);
  if (!number || TakeWord(*line)) return std::nullopt;
  return number;
}

std::optional<uint64_t> ListSize(std::string_view list) {
  list = Trimmed(list);
  uint64_t size = 0;
  while (!list.empty()) {
    const auto range = TakeRange(list);
    if (!range) return std::nullopt;
    size += range->last - range->first + 1;
  }
  return size;
}

bool ListHolds(std::string_view list, uint64_t number) {
  list = Trimmed(list);
  while (!list.empty()) {
    const auto range = TakeRange(list);
    if (!range) return false;
    if (number >= range->first && number <= range->last) return true;
  }
  return false;
}

}  // namespace stallscope::system
