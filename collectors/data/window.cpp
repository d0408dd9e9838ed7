#include "collectors/data/window.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <utility>

#include "analyzer/base/amplification.h"

namespace stallscope::data {
namespace {

// The kernel copies fastest to the start of a page.
constexpr size_t kPage = 4096;
constexpr size_t PageUp(size_t size) { return (size + kPage - 1) / kPage * kPage; }

}  // namespace

Window::Window(std::unique_ptr<ByteSource> source, size_t block_bytes)
    : source_(std::move(source)), block_bytes_(std::max(PageUp(block_bytes), kPage)) {}

void Window::Pass(size_t size) {
  assert(size <= end_ - begin_);
  begin_ += size;
  offset_ += size;
}

// Puts the tail right before a page boundary, with a block's room behind it.
Status Window::MakeRoom(size_t tail) {
  const size_t block_start = PageUp(tail);
  const size_t needed = block_start + block_bytes_;
  const size_t new_begin = block_start - tail;
  if (needed > buffer_.size()) {
    const uint64_t packed = source_->PackedBytesRead();
    if (needed > MostMemoryFor(packed)) {
      return Error{ErrorKind::kRun,
                   "a record of more than " + std::to_string(tail >> 20) + " MiB from " +
                       std::to_string(packed) + " packed bytes: no data packs so well",
                   source_->name(), "unpack the file if you trust it"};
    }
    Buffer grown;
    if (!grown.TryResize(needed + (tail > block_bytes_ ? tail : 0))) {
      return Error{ErrorKind::kRun, "no memory for a record of this size", source_->name(), ""};
    }
    if (tail > 0) std::memcpy(grown.data() + new_begin, buffer_.data() + begin_, tail);
    buffer_ = std::move(grown);
  } else if (tail > 0) {
    std::memmove(buffer_.data() + new_begin, buffer_.data() + begin_, tail);
  }
  begin_ = new_begin;
  end_ = block_start;
  return {};
}

Status Window::Fill(size_t size) {
  while (end_ - begin_ < size && !ended_) {
    // Where the block before came short, a long tail is better left where it is than moved again.
    const bool fits = begin_ < end_ && end_ + block_bytes_ <= buffer_.size() &&
                      (end_ % Buffer::kAlignment == 0 || end_ - begin_ >= block_bytes_);
    if (!fits) STALLSCOPE_RETURN_IF_ERROR(MakeRoom(end_ - begin_));
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                                source_->Read(buffer_.data() + end_, block_bytes_));
    end_ += got;
    ended_ = got == 0;
  }
  return {};
}

}  // namespace stallscope::data
