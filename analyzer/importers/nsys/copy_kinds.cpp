#include "analyzer/importers/nsys/copy_kinds.h"

#include <string_view>

namespace stallscope::importers::nsys {
namespace {

using trace::CopyDirection;
using trace::CopyMemory;

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

CopyKinds::CopyKinds(Database& database)
    : directions_{{1, CopyDirection::kHostToDevice},  {2, CopyDirection::kDeviceToHost},
                  {3, CopyDirection::kHostToDevice},  {4, CopyDirection::kDeviceToHost},
                  {11, CopyDirection::kHostToDevice}, {12, CopyDirection::kDeviceToHost}},
      memories_{{0, CopyMemory::kPageable}, {1, CopyMemory::kPinned}} {
  std::map<int64_t, CopyDirection> directions;
  database.ForEach("ENUM_CUDA_MEMCPY_OPER", {"id", "name"}, [&](const Row& row) {
    const std::string_view name = row.Text(1);
    if (EndsWith(name, "HTOD") || EndsWith(name, "HTOA")) {
      directions[row.Int(0)] = CopyDirection::kHostToDevice;
    } else if (EndsWith(name, "DTOH") || EndsWith(name, "ATOH")) {
      directions[row.Int(0)] = CopyDirection::kDeviceToHost;
    }
  });
  if (!directions.empty()) directions_ = std::move(directions);
  std::map<int64_t, CopyMemory> memories;
  database.ForEach("ENUM_CUDA_MEM_KIND", {"id", "name"}, [&](const Row& row) {
    const std::string_view name = row.Text(1);
    if (EndsWith(name, "PAGEABLE")) memories[row.Int(0)] = CopyMemory::kPageable;
    if (EndsWith(name, "PINNED")) memories[row.Int(0)] = CopyMemory::kPinned;
  });
  if (!memories.empty()) memories_ = std::move(memories);
}

CopyDirection CopyKinds::DirectionOf(int64_t copy_kind) const {
  const auto found = directions_.find(copy_kind);
  return found == directions_.end() ? CopyDirection::kDeviceToDevice : found->second;
}

CopyMemory CopyKinds::MemoryOf(CopyDirection direction, int64_t source_kind,
                               int64_t destination_kind) const {
  if (direction == CopyDirection::kDeviceToDevice) return CopyMemory::kUnknown;
  const auto found =
      memories_.find(direction == CopyDirection::kHostToDevice ? source_kind : destination_kind);
  return found == memories_.end() ? CopyMemory::kUnknown : found->second;
}

}  // namespace stallscope::importers::nsys
