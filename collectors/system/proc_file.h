// The kernel's text files: read repeatedly and split into lines, words and numbers.
//
// The kernel regenerates the text on every read from offset 0, so a file is opened once, and each
// reading is one pread: an open descriptor saves the walk along the path (1 us instead of 6 us for
// a thread's schedstat). A ProcFile belongs to one thread at a time.
//
// The scanners are pure functions on views, for any thread; they allocate nothing. They take only
// what is whole (a number with white space behind it, a line with its end), so that a text that was
// cut off never yields a smaller number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::system {

class ProcFile {
 public:
  // A missing file is not an error here: reading returns nothing, and problem() says why.
  explicit ProcFile(std::string path, size_t capacity = 4096);
  ~ProcFile();
  ProcFile(ProcFile&& other) noexcept;
  ProcFile& operator=(ProcFile&& other) noexcept;

  bool open() const { return fd_ >= 0; }
  // The text as it is now, until the next call; of a longer one the first `capacity` bytes.
  std::optional<std::string_view> Read();
  // All of it, up to 8 MiB. The kernel returns a page at a time, so even a short text takes two
  // calls: for files that are read once, or whose length nobody knows.
  std::optional<std::string_view> ReadWhole();
  // Why reading returned nothing, or what the caller found wrong; with the path.
  std::string problem() const;
  void Damaged() { damaged_ = true; }
  bool sound() const { return error_ == 0 && !damaged_; }

 private:
  // Fills the buffer from `begin` on; how much that was.
  std::optional<size_t> ReadFrom(size_t begin);

  std::string path_;
  int fd_ = -1;
  int error_ = 0;  // errno
  bool damaged_ = false;
  std::vector<char> text_;
};

// "/" + "/proc/stat" and "/tmp/tree" + "/proc/stat": a path below a root.
std::string Below(const std::string& root, std::string_view path);

// The whole text of a file that is read once; nothing where it cannot be read.
std::optional<std::string> ReadOnce(const std::string& path);

// Each takes a token off the front of `text`, or returns nothing and leaves `text` unchanged.
std::optional<std::string_view> TakeLine(std::string_view& text);  // without its line feed
std::optional<std::string_view> TakeWord(std::string_view& text);  // up to the next white space
// A nonnegative decimal number that fits, followed by white space or the end of `text`: the end
// counts here because lines come without theirs.
std::optional<uint64_t> TakeNumber(std::string_view& text);

// The number behind `key` at the start of a line: "key 12", "key: 12 kB".
std::optional<uint64_t> FindNumber(std::string_view text, std::string_view key);

// The number that is the whole text ("4096\n"); nothing for "max".
std::optional<uint64_t> OnlyNumber(std::string_view text);

// How many numbers a list such as "0-3,8,10-11" contains, and whether it contains one. Nothing
// where the list is malformed.
std::optional<uint64_t> ListSize(std::string_view list);
bool ListHolds(std::string_view list, uint64_t number);

}  // namespace stallscope::system
