// A long text in pieces that can be looked at one by one: each begins where the caller was done,
// and ends outside of any string. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_WINDOWS_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_WINDOWS_H_

#include <cstdint>
#include <string_view>

#include "analyzer/base/column.h"
#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"

namespace stallscope::importers::chrome {

class Windows {
 public:
  // A window and the index of its structure fit into a core's cache. A small file's is smaller.
  static constexpr size_t kWindowBytes = size_t{256} << 10;
  // One event or value of the header that is longer than this is an error.
  static constexpr size_t kMostBytes = size_t{16} << 20;

  explicit Windows(ByteSource& source)
      : source_(source), window_bytes_(source.BytesAtOnce(kWindowBytes)) {}

  // Reads on behind what Consume() has left. The window grows where nothing was consumed. An error
  // is the source's, or a value that is longer than kMostBytes.
  Status Fill();
  // The text that is here, cut where no string can be open: behind "}," or "]," with a key or an
  // object's first key following, since a quote inside a string would be escaped. Empty where no
  // such place is here yet. At the end of the file all of it.
  std::string_view Whole() const;
  // The same without the cut: it may end inside a string.
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

// Where the next event may begin behind `from`: at a brace that follows "}," and has a key. npos
// where there is none.
size_t NextEvent(std::string_view text, size_t from);

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_WINDOWS_H_
