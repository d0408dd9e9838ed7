// A sliding view of a source: look at the next bytes, however many, then pass over them.
//
// The window owns one buffer. Each block is read to a 64-byte boundary of it (what is left of the
// block before is moved in front), so that the kernel copies at full speed. Memory grows only as
// bytes arrive, never by what a length in the data claims, and of packed data no
// further than analyzer/base/amplification.h lets it. Views last until the next Fill. One
// thread at a time.
#ifndef STALLSCOPE_COLLECTORS_DATA_WINDOW_H_
#define STALLSCOPE_COLLECTORS_DATA_WINDOW_H_

#include <cstdint>
#include <memory>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/byte_source.h"

namespace stallscope::data {

class Window {
 public:
  Window(std::unique_ptr<ByteSource> source, size_t block_bytes);

  // Makes at least `size` bytes available, fewer only where the source ends. Reads a whole block
  // at least where it must read at all.
  Status Fill(size_t size);
  // What is available now.
  ByteView view() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void Pass(size_t size);

  uint64_t offset() const { return offset_; }  // of view() in the source
  bool at_end() const { return ended_ && begin_ == end_; }
  const ByteSource& source() const { return *source_; }

 private:
  Status MakeRoom(size_t tail);

  std::unique_ptr<ByteSource> source_;
  const size_t block_bytes_;
  Buffer buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;
  bool ended_ = false;
};

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_WINDOW_H_
