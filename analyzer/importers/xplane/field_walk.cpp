#include "analyzer/importers/xplane/field_walk.h"

#include <algorithm>
#include <cstring>

namespace stallscope::importers::xplane {
namespace {

constexpr size_t kMostHeadBytes = 20;  // two varints

}  // namespace

Result<bool> FieldWalk::Next() {
  if (at_ >= end_ || !ok_) return false;
  STALLSCOPE_ASSIGN_OR_RETURN(std::string_view view, bytes_->From(at_, kMostHeadBytes));
  view = view.substr(0, std::min<uint64_t>(view.size(), end_ - at_));
  const char* const begin = view.data();
  const char* const end = begin + view.size();
  ok_ = false;
  uint64_t tag = 0;
  const char* at = ReadVarint(begin, end, tag);
  if (at == nullptr || tag >> 3 == 0 || tag >> 32 != 0) return false;
  field_ = {static_cast<uint32_t>(tag >> 3), static_cast<WireType>(tag & 7), 0, at_, 0, 0};
  const auto fixed = [&](size_t size) {
    if (static_cast<size_t>(end - at) < size) return static_cast<const char*>(nullptr);
    std::memcpy(&field_.value, at, size);
    return at + size;
  };
  switch (tag & 7) {
    case 0:
      at = ReadVarint(at, end, field_.value);
      break;
    case 1:
      at = fixed(8);
      break;
    case 2:
      at = ReadVarint(at, end, field_.size);
      break;
    case 5:
      at = fixed(4);
      break;
    default:
      return false;
  }
  if (at == nullptr) return false;
  field_.from = at_ + static_cast<uint64_t>(at - begin);
  if (field_.type == WireType::kBytes && field_.size > end_ - field_.from) {
    field_.size = end_ - field_.from;
    cut_ = true;
  }
  at_ = field_.from + field_.size;
  ok_ = true;
  return true;
}

Result<std::string_view> FieldWalk::Content(uint64_t most) {
  const uint64_t size = std::min(field_.size, most);
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string_view view,
                              bytes_->From(field_.from, static_cast<size_t>(size)));
  return view.substr(0, static_cast<size_t>(size));
}

}  // namespace stallscope::importers::xplane
