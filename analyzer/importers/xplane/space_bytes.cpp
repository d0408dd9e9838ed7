#include "analyzer/importers/xplane/space_bytes.h"

#include <algorithm>
#include <utility>

namespace stallscope::importers::xplane {
namespace {

constexpr size_t kWindowBytes = size_t{1} << 20;

}  // namespace

Result<SpaceBytes> SpaceBytes::Open(ByteSource& source) {
  if (source.packed()) {
    STALLSCOPE_ASSIGN_OR_RETURN(std::string content, ReadAll(source, kMostBytes));
    return SpaceBytes(std::move(content), source);
  }
  STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(source.path()));
  STALLSCOPE_ASSIGN_OR_RETURN(const uint64_t size, file.Size());
  if (size > kMostBytes) {
    return Error{ErrorKind::kInput,
                 "this XSpace is larger than a protobuf message can be (2 GiB): it is damaged",
                 source.path(), "record a shorter run"};
  }
  return SpaceBytes(std::move(file), size, source);
}

Result<std::string_view> SpaceBytes::From(uint64_t offset, size_t least) {
  if (offset >= size_) return std::string_view();
  least = static_cast<size_t>(std::min<uint64_t>(least, size_ - offset));
  const bool here = offset >= held_from_ && offset + least <= held_from_ + held_.size();
  if (!here && file_.has_value()) {
    held_.resize(std::max(kWindowBytes, least));
    Result<size_t> got = file_->ReadAt(offset, held_.data(), held_.size());
    if (!got.ok()) {
      held_.clear();
      return std::move(got).error();
    }
    held_.resize(got.value());
    held_from_ = offset;
    // It has become shorter since it was opened.
    if (held_.size() < least) size_ = offset + held_.size();
  }
  if (offset >= held_from_ + held_.size()) return std::string_view();
  return std::string_view(held_).substr(static_cast<size_t>(offset - held_from_));
}

}  // namespace stallscope::importers::xplane
