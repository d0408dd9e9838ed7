// The bytes of an XSpace at any offset, a window of the file at a time. Private to the room.
//
// A plane's names stand behind its events, so a file is read twice: once over, for the names, and
// then for the events. A file that is not packed is read through a window of a MiB and never lies
// in memory as a whole; of a packed one what comes out does, for it cannot be read out of order.
// One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_SPACE_BYTES_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_SPACE_BYTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"

namespace stallscope::importers::xplane {

class SpaceBytes {
 public:
  // No message of protobuf is larger, so no file that anybody wrote is.
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;

  static Result<SpaceBytes> Open(ByteSource& source);
  // Bytes of `source` that lie in memory; as Open() has it, it must outlive the object.
  SpaceBytes(std::string content, ByteSource& source)
      : source_(&source), held_(std::move(content)), size_(held_.size()) {}

  uint64_t size() const { return size_; }
  // What lies from `offset` on: at least `least` bytes of it, or all to the end of the file, where
  // that is nearer; usually much more. Good until the next call. An error is the disk's.
  Result<std::string_view> From(uint64_t offset, size_t least);

  // Of the file: what is made of it is charged there.
  Allowance& allowance() { return source_->allowance(); }
  Status CheckAllowance() const { return source_->CheckAllowance(); }

 private:
  SpaceBytes(InputFile file, uint64_t size, ByteSource& source)
      : source_(&source), file_(std::move(file)), size_(size) {}

  ByteSource* source_;
  std::optional<InputFile> file_;
  std::string held_;  // all of it, or the window
  uint64_t held_from_ = 0;
  uint64_t size_ = 0;
};

}  // namespace stallscope::importers::xplane

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_SPACE_BYTES_H_
