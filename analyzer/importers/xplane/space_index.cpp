#include "analyzer/importers/xplane/space_index.h"

#include <algorithm>
#include <utility>

#include "analyzer/importers/xplane/field_walk.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers::xplane {
namespace {

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
    if (!walk.ok()) Broken(walk.at(), bytes_.size(), "no field of an XSpace");
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

  // A length that lies; where the file itself ends there, that has been said.
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
    if (!stats.back().ok) AddFault({offset, content.size(), "no stat", false});
  }

  Status AddPlane(const FieldWalk::Field& at) {
    if (index_.planes.size() == kMostPlanes) {
      ++index_.left_out;
      return {};
    }
    bytes_.allowance().ChargeText(sizeof(Plane));
    STALLSCOPE_RETURN_IF_ERROR(bytes_.CheckAllowance());
    Plane plane;
    // Their names may stand behind them.
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
    if (!walk.ok()) Broken(walk.at(), at.from + at.size, "no field of a plane");
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
      // What describes a line stands before its events, and nobody looks through these twice.
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
    if (!walk.ok()) Broken(walk.at(), line.end, "no field of a line");
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
      AddFault({offset, entry.size(), "no description of a name", false});
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
