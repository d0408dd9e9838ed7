// Reads CSV as RFC 4180 defines it: quotes, doubled quotes, line breaks within quotes, LF or CRLF.
//
// A row is returned as raw text, a view into the reader's own buffer, valid until the next call;
// SplitCsvRow takes it apart. Every row has as many fields as the first. Empty lines are not rows.
// The file may be packed with gzip or zlib. A row takes no more memory, its fields included, than
// analyzer/base/amplification.h lets it. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/byte_source.h"

namespace stallscope::data {

struct CsvRow {
  std::string_view text;  // without its line break
  uint64_t index = 0;     // counted from 0, without the header
  uint64_t line = 0;      // counted from 1
  uint64_t offset = 0;    // of the row; in a packed file, in the unpacked data
  size_t fields = 0;
};

class CsvReader {
 public:
  static constexpr size_t kMaxRowBytes = size_t{256} << 20;

  static Result<CsvReader> Open(const std::string& path, const ReadOptions& options = {});
  static Result<CsvReader> Over(std::unique_ptr<ByteSource> source,
                                const ReadOptions& options = {});

  // The next row; nothing at the end. A ragged row, or one with a misplaced quote, is lost, and the
  // next call continues after it. A quote that is never closed ends the file.
  Result<std::optional<CsvRow>> Next();

  // The names in the first line, which is a header if its first field is not a number. Empty if
  // there is no header.
  const std::vector<std::string>& header() const { return header_; }
  size_t columns() const { return columns_; }
  bool can_continue() const { return !stuck_; }
  const std::string& path() const { return window_.source().name(); }

 private:
  CsvReader(std::unique_ptr<ByteSource> source, const ReadOptions& options)
      : window_(std::move(source), options.block_bytes) {}
  Status ReadHeader();
  struct Extent {
    size_t end = 0;  // of the row, its line feed not counted
    size_t commas = 0;
    uint64_t lines = 0;  // breaks within quotes
    bool misplaced = false;
  };
  Result<std::optional<Extent>> FindEnd();
  Result<std::optional<CsvRow>> Scan();
  Error At(std::string what, std::string hint) const;

  Window window_;
  std::vector<std::string> header_;
  size_t columns_ = 0;  // 0 before the first row
  size_t pending_ = 0;  // bytes of the row given last, passed over by the next call
  uint64_t pending_lines_ = 0;
  uint64_t index_ = 0;
  uint64_t line_ = 1;
  bool stuck_ = false;
};

// The fields of a row, unquoted: views into `text`, or into the object where quotes had to be
// removed.
class CsvFields {
 public:
  // An error names the column. Reuse the object.
  Status Split(std::string_view text);
  size_t size() const { return fields_.size(); }
  std::string_view operator[](size_t column) const { return fields_[column]; }

 private:
  std::vector<std::string_view> fields_;
  std::vector<char> unquoted_;
};

}  // namespace stallscope::data
