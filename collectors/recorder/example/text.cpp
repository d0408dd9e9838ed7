#include "text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

namespace example {

std::vector<float> CountWords(std::string_view text) {
  std::vector<float> counts(kFeatures);
  constexpr uint32_t kBasis = 2166136261u;  // FNV-1a
  uint32_t hash = kBasis;
  for (const char c : text) {
    if (c != ' ' && c != '\n') {
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    } else if (hash != kBasis) {
      counts[hash % kFeatures] += 1;
      hash = kBasis;
    }
  }
  double squares = 0;
  for (const float count : counts) squares += double{count} * count;
  const float scale = squares > 0 ? static_cast<float>(1 / std::sqrt(squares)) : 0;
  for (float& count : counts) count *= scale;
  return counts;
}

TextSource::TextSource(std::vector<std::string> files, size_t block_bytes)
    : files_(std::move(files)), block_bytes_(block_bytes) {
  for (int i = 0; i < 10'000; ++i) {
    std::string word;
    for (size_t length = 2 + random_() % 9; length > 0; --length) {
      word += static_cast<char>('a' + random_() % 26);
    }
    vocabulary_.push_back(std::move(word));
  }
  std::sort(vocabulary_.begin(), vocabulary_.end());
}

bool TextSource::Next(std::string& text, Origin& origin) {
  if (files_.empty()) {
    Make(text);
    origin = next_;
    next_.offset += text.size();
    return true;
  }
  text.resize(block_bytes_);
  while (true) {
    if (file_ == nullptr && !OpenNext()) return false;
    const size_t got = std::fread(text.data(), 1, text.size(), file_.get());
    if (got > 0) {
      text.resize(got);
      origin = next_;
      next_.offset += got;
      found_text_ = true;
      return true;
    }
    if (std::ferror(file_.get()) != 0) {
      error_ = files_[next_.file] + ": " + std::strerror(errno);
      return false;
    }
    file_.reset();
    next_.offset = 0;
    ++next_.file;
  }
}

bool TextSource::OpenNext() {
  if (next_.file == files_.size()) {
    if (!found_text_) {
      error_ = files_.front() + ": no text in the files";
      return false;
    }
    next_ = Origin{0, 0, next_.epoch + 1};
    found_text_ = false;
  }
  file_.reset(std::fopen(files_[next_.file].c_str(), "rb"));
  if (file_ == nullptr) error_ = files_[next_.file] + ": " + std::strerror(errno);
  return file_ != nullptr;
}

void TextSource::Make(std::string& text) {
  // Words of one half of the alphabet, so that there is something to learn.
  const size_t half = vocabulary_.size() / 2;
  const size_t first = random_() % 2 * half;
  text.clear();
  while (text.size() < block_bytes_) {
    text += vocabulary_[first + random_() % half];
    text += ' ';
  }
  text.resize(block_bytes_);
}

}  // namespace example
