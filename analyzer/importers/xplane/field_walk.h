// Walks the fields of a message that may be far larger than what is in memory. Private to the room.
// One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_FIELD_WALK_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_FIELD_WALK_H_

#include <cstdint>
#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/importers/xplane/space_bytes.h"
#include "analyzer/importers/xplane/wire.h"

namespace stallscope::importers::xplane {

class FieldWalk {
 public:
  struct Field {
    uint32_t number = 0;
    WireType type = WireType::kVarint;
    uint64_t value = 0;  // of a varint or a fixed number
    uint64_t tag_at = 0;
    uint64_t from = 0;  // of bytes
    uint64_t size = 0;
  };

  // The message lies at [from, end) of `bytes`, which must outlive the walk.
  FieldWalk(SpaceBytes& bytes, uint64_t from, uint64_t end)
      : bytes_(&bytes), at_(from), end_(end) {}

  // False at the end, and where the rest is no message: then !ok(). A field of bytes is stepped
  // over; the last one may reach past the end, and is cut to it and is_cut().
  Result<bool> Next();
  const Field& field() const { return field_; }
  bool ok() const { return ok_; }
  bool is_cut() const { return cut_; }
  uint64_t at() const { return at_; }
  // The content of a field of bytes, no more than `most` of it; good until the next call of
  // whatever reads.
  Result<std::string_view> Content(uint64_t most);

 private:
  SpaceBytes* bytes_;
  uint64_t at_;
  uint64_t end_;
  Field field_;
  bool ok_ = true;
  bool cut_ = false;
};

}  // namespace stallscope::importers::xplane

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_FIELD_WALK_H_
