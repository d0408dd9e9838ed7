#include "analyzer/importers/xplane/space.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "analyzer/base/result.h"
#include "analyzer/importers/xplane/wire.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers::xplane {
namespace {

struct RoleName {
  std::string_view name;
  StatRole role;
};
constexpr std::array kRoleNames = {
    RoleName{"step_num", StatRole::kStepNum},
    RoleName{"group_id", StatRole::kGroupId},
    RoleName{"correlation_id", StatRole::kCorrelation},
    RoleName{"memcpy_details", StatRole::kMemcpyDetails},
    RoleName{"id", StatRole::kId},
    RoleName{"parent_id", StatRole::kParentId},
    RoleName{"_p", StatRole::kProducer},
    RoleName{"_c", StatRole::kConsumer},
    RoleName{"parallelism", StatRole::kParallelism},
    RoleName{"deterministic", StatRole::kDeterministic},
    RoleName{"buffer_limit", StatRole::kBufferLimit},
    RoleName{"buffer_size", StatRole::kBufferSize},
    RoleName{"autotune", StatRole::kAutotune},
    RoleName{"batch_size", StatRole::kBatchSize},
    RoleName{"shapes", StatRole::kShapes},
    RoleName{"types", StatRole::kTypes},
    RoleName{"drop_remainder", StatRole::kDropRemainder},
    RoleName{"cycle_length", StatRole::kCycleLength},
    RoleName{"block_length", StatRole::kBlockLength},
    RoleName{"num_shards", StatRole::kNumShards},
    RoleName{"tf_function_call", StatRole::kFunctionCall},
    RoleName{"eager_op", StatRole::kEagerOp},
    RoleName{"is_func", StatRole::kIsFunction},
    RoleName{"hlo_op", StatRole::kHloOp},
    RoleName{"cuda_graph_id", StatRole::kGraph},
    RoleName{"gpu_device_name", StatRole::kDeviceName},
    RoleName{"device_vendor", StatRole::kDeviceVendor},
    RoleName{"memory_size", StatRole::kMemorySize},
    RoleName{"profile_start_time", StatRole::kProfileStart},
};

}  // namespace

StatRole RoleOfStat(std::string_view name) {
  for (const RoleName& known : kRoleNames) {
    if (known.name == name) return known.role;
  }
  return StatRole::kNone;
}

Stat ReadStat(std::string_view message) {
  Stat stat;
  WireReader reader(message);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        stat.name = reader.Signed();
        break;
      case 3:  // uint64
      case 4:  // int64: the same bits
        stat.number = reader.Number();
        break;
      case 5:
        stat.text = reader.Bytes();
        break;
      case 7:
        stat.number = reader.Number();
        stat.is_reference = true;
        break;
      default:
        break;
    }
  }
  stat.ok = reader.ok();
  return stat;
}

std::string_view TextOf(const Stat& stat, const StatNames& names) {
  if (!stat.is_reference) return stat.text;
  const StatName* name = names.Find(static_cast<int64_t>(stat.number));
  return name == nullptr ? std::string_view() : std::string_view(name->name);
}

namespace {

constexpr size_t kWindowBytes = size_t{1} << 20;

}  // namespace

Result<SpaceBytes> SpaceBytes::Open(ByteSource& source) {
  STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, TakeFile(source, kMostBytes));
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
  if (!here) {
    held_.resize(std::max(kWindowBytes, least));
    Result<size_t> got = file_.ReadAt(offset, held_.data(), held_.size());
    if (!got.ok()) {
      held_.clear();
      return std::move(got).error();
    }
    held_.resize(got.value());
    held_from_ = offset;
    // The file has shrunk since it was opened.
    if (held_.size() < least) size_ = offset + held_.size();
  }
  if (offset >= held_from_ + held_.size()) return std::string_view();
  return std::string_view(held_).substr(static_cast<size_t>(offset - held_from_));
}

namespace {

constexpr size_t kMostHeadBytes = 20;  // two varints

// Walks the fields of a message that may be far larger than what is in memory.
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

  // The message is at [from, end) of `bytes`, which must outlive the walk.
  FieldWalk(SpaceBytes& bytes, uint64_t from, uint64_t end)
      : bytes_(&bytes), at_(from), end_(end) {}

  // False at the end, and if the rest is not a message: then !ok(). A field of bytes is stepped
  // over; one that claims to reach past the end is cut there, and is_cut().
  Result<bool> Next();
  const Field& field() const { return field_; }
  bool ok() const { return ok_; }
  bool is_cut() const { return cut_; }
  uint64_t at() const { return at_; }
  // The content of a field of bytes, no more than `most` of it; valid until the next read of any
  // kind.
  Result<std::string_view> Content(uint64_t most);

 private:
  SpaceBytes* bytes_;
  uint64_t at_;
  uint64_t end_;
  Field field_;
  bool ok_ = true;
  bool cut_ = false;
};

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

constexpr uint64_t kMostTextBytes = 64 << 10;

class Indexer {
 public:
  explicit Indexer(SpaceBytes& bytes) : bytes_(bytes) {}

  Result<SpaceIndex> Run() {
    FieldWalk walk(bytes_, 0, bytes_.size());
    for (;;) {
      STALLSCOPE_ASSIGN_OR_RETURN(const bool more, walk.Next());
      if (!more) break;
      const FieldWalk::Field field = walk.field();
      const bool bytes = field.type == WireType::kBytes;
      if (field.number == 1 && bytes) {
        if (walk.is_cut()) {
          AddFault({field.tag_at, 0, "the file ends inside a plane", true});
        }
        STALLSCOPE_RETURN_IF_ERROR(AddPlane(field));
      } else if (field.number >= 2 && field.number <= 4 && bytes) {
        STALLSCOPE_ASSIGN_OR_RETURN(const std::string_view text, walk.Content(kMostTextBytes));
        auto& list = field.number == 4 ? index_.hosts : index_.messages;
        if (list.size() < trace::kMaxArguments) {
          list.push_back(Cut(text));
        } else {
          ++index_.left_out;
        }
      }
    }
    if (!walk.ok()) Broken(walk.at(), bytes_.size(), "not a field of an XSpace");
    return std::move(index_);
  }

 private:
  std::string Cut(std::string_view text) {
    if (text.size() > trace::kMaxNameBytes) index_.cut_names = true;
    return std::string(text.substr(0, trace::kMaxNameBytes));
  }

  void AddFault(Fault fault) {
    bytes_.allowance().ChargeText(sizeof fault);
    index_.faults.push_back(std::move(fault));
  }

  void Broken(uint64_t from, uint64_t end, const char* reason) {
    const bool cut = end == bytes_.size() && end - from < 20;
    AddFault({from, end - from, reason, cut});
  }

  // A false length; if the file itself ends there, that has been reported.
  void CutShort(const FieldWalk::Field& message, const char* reason) {
    if (message.from + message.size == bytes_.size()) return;
    AddFault({message.tag_at, message.size, reason, false});
  }

  void AddStat(std::string_view content, uint64_t offset, std::vector<Stat>& stats,
               std::vector<std::string>& texts) {
    if (stats.size() == trace::kMaxArguments) {
      ++index_.left_out;
      return;
    }
    stats.push_back(ReadStat(content));
    texts.push_back(Cut(stats.back().text));
    if (!stats.back().ok) AddFault({offset, content.size(), "not a stat", false});
  }

  Status AddPlane(const FieldWalk::Field& at) {
    if (index_.planes.size() == kMostPlanes) {
      ++index_.left_out;
      return {};
    }
    bytes_.allowance().ChargeText(sizeof(Plane));
    STALLSCOPE_RETURN_IF_ERROR(bytes_.CheckAllowance());
    Plane plane;
    // Their names may follow them.
    std::vector<Stat> stats;
    std::vector<std::string> texts;
    FieldWalk walk(bytes_, at.from, at.from + at.size);
    for (;;) {
      STALLSCOPE_ASSIGN_OR_RETURN(const bool more, walk.Next());
      if (!more) break;
      const FieldWalk::Field& field = walk.field();
      if (field.type == WireType::kVarint) {
        if (field.number == 1) plane.id = static_cast<int64_t>(field.value);
        continue;
      }
      if (field.type != WireType::kBytes) continue;
      if (field.number == 3) {
        STALLSCOPE_RETURN_IF_ERROR(AddLine(field, plane));
      } else if (field.number == 2 || (field.number >= 4 && field.number <= 6)) {
        if (field.size > kMostEntryBytes) {
          ++index_.left_out;
          continue;
        }
        STALLSCOPE_ASSIGN_OR_RETURN(const std::string_view content, walk.Content(kMostEntryBytes));
        STALLSCOPE_RETURN_IF_ERROR(bytes_.CheckAllowance());
        if (field.number == 2) plane.name = Cut(content);
        if (field.number == 4) AddEventName(content, field.tag_at, plane);
        if (field.number == 5) AddStatName(content, field.tag_at, plane);
        if (field.number == 6) AddStat(content, field.tag_at, stats, texts);
      }
    }
    if (walk.is_cut()) CutShort(at, "a field of a plane reaches past its end");
    if (!walk.ok()) Broken(walk.at(), at.from + at.size, "not a field of a plane");
    for (size_t i = 0; i < stats.size(); ++i) {
      stats[i].text = texts[i];
      Describe(stats[i], plane);
    }
    index_.planes.push_back(std::move(plane));
    return {};
  }

  Status AddLine(const FieldWalk::Field& at, Plane& plane) {
    if (lines_ == kMostLines) {
      ++index_.left_out;
      return {};
    }
    ++lines_;
    bytes_.allowance().ChargeText(sizeof(Line));
    Line& line = plane.lines.emplace_back();
    line.end = at.from + at.size;
    line.events_from = line.end;
    FieldWalk walk(bytes_, at.from, line.end);
    for (;;) {
      STALLSCOPE_ASSIGN_OR_RETURN(const bool more, walk.Next());
      if (!more) break;
      const FieldWalk::Field& field = walk.field();
      // A line's description precedes its events, which are not worth a second pass.
      if (field.number == 4) {
        line.events_from = field.tag_at;
        return {};
      }
      if (field.number == 1) line.id = static_cast<int64_t>(field.value);
      if (field.number == 3) line.timestamp_ns = static_cast<int64_t>(field.value);
      if (field.number == 2 && field.type == WireType::kBytes) {
        STALLSCOPE_ASSIGN_OR_RETURN(const std::string_view text, walk.Content(kMostTextBytes));
        line.name = Cut(text);
      }
    }
    if (walk.is_cut()) CutShort(at, "a field of a line reaches past its end");
    if (!walk.ok()) Broken(walk.at(), line.end, "not a field of a line");
    return {};
  }

  // An entry of a map: the key, and the message that describes it, which repeats the key.
  template <class Take>
  void ForEntry(std::string_view entry, uint64_t offset, Take take) {
    if (names_ == kMostNames) {
      ++index_.left_out;
      return;
    }
    ++names_;
    bytes_.allowance().ChargeText(sizeof(EventName) +
                                  std::min<size_t>(entry.size(), 2 * trace::kMaxNameBytes));
    int64_t key = 0;
    std::string_view value;
    WireReader reader(entry);
    while (reader.Next()) {
      if (reader.field() == 1) key = reader.Signed();
      if (reader.field() == 2) value = reader.Bytes();
    }
    WireReader fields(value);
    take(key, fields);
    if (!reader.ok() || !fields.ok()) {
      AddFault({offset, entry.size(), "not a description of a name", false});
    }
  }

  void AddEventName(std::string_view entry, uint64_t offset, Plane& plane) {
    ForEntry(entry, offset, [&](int64_t key, WireReader& reader) {
      EventName& name = plane.event_names[key];
      while (reader.Next()) {
        if (reader.field() == 2) name.name = Cut(reader.Bytes());
        if (reader.field() == 4) name.display_name = Cut(reader.Bytes());
      }
    });
  }

  void AddStatName(std::string_view entry, uint64_t offset, Plane& plane) {
    ForEntry(entry, offset, [&](int64_t key, WireReader& reader) {
      StatName& name = plane.stat_names[key];
      while (reader.Next()) {
        if (reader.field() == 2) name.name = Cut(reader.Bytes());
      }
      name.role = RoleOfStat(name.name);
    });
  }

  void Describe(const Stat& stat, Plane& plane) {
    const StatName* name = plane.stat_names.Find(stat.name);
    if (name == nullptr) return;
    const std::string_view text = TextOf(stat, plane.stat_names);
    if (name->role == StatRole::kDeviceName) plane.device_name = text;
    if (name->role == StatRole::kDeviceVendor) plane.device_vendor = text;
    if (name->role == StatRole::kMemorySize) plane.memory_bytes = stat.number;
    if (name->role == StatRole::kProfileStart) {
      plane.profile_start_ns = trace::ClampTime(static_cast<int64_t>(stat.number));
    }
  }

  SpaceBytes& bytes_;
  SpaceIndex index_;
  size_t lines_ = 0;
  size_t names_ = 0;
};

}  // namespace

Result<SpaceIndex> IndexSpace(SpaceBytes& bytes) { return Indexer(bytes).Run(); }

}  // namespace stallscope::importers::xplane
