// Blocks of text, and what the trainer learns from them. Nothing here knows about the recorder.
#ifndef EXAMPLE_TEXT_H_
#define EXAMPLE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace example {

constexpr size_t kFeatures = 4096;

// How often each word occurs, words hashed into kFeatures buckets, scaled to length 1.
std::vector<float> CountWords(std::string_view text);

// Where a block of text comes from.
struct Origin {
  size_t file = 0;  // index in the list of files
  uint64_t offset = 0;
  uint32_t epoch = 0;
};

// Gives blocks without end: the files from the first to the last, again and again, or made text
// where there are no files. For one thread.
class TextSource {
 public:
  TextSource(std::vector<std::string> files, size_t block_bytes);

  // Sets `text` to the next block. False where a file cannot be read or all of them are empty.
  bool Next(std::string& text, Origin& origin);
  const std::string& error() const { return error_; }

 private:
  void Make(std::string& text);
  bool OpenNext();

  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const std::vector<std::string> files_;
  const size_t block_bytes_;
  std::unique_ptr<std::FILE, Closer> file_;
  Origin next_;
  bool found_text_ = false;  // in this epoch
  std::string error_;
  std::minstd_rand random_{7};
  std::vector<std::string> vocabulary_;
};

}  // namespace example

#endif  // EXAMPLE_TEXT_H_
