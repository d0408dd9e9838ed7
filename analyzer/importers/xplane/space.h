// A named value on an event, a plane or a metadata entry, and the names that matter here. Private
// to the room.
//
// The meaning of a stat is its name, which the plane's table of names gives; the few that the
// importer asks for have a role, and an event's other stats are skipped unread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_SPACE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_SPACE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/importers/foreign/id_table.h"
#include "analyzer/importers/xplane/wire.h"

namespace stallscope::importers::xplane {

enum class StatRole : uint8_t {
  kNone,
  kStepNum,        // an event that is a step of the trainer
  kGroupId,        // the step that an event was counted to by the profiler itself
  kCorrelation,    // ties a call on the host to what it launched
  kMemcpyDetails,  // "size:112 dest:4 async:0", see copy_details.h
  kId,             // of an iterator, or of a run of a graph
  kParentId,       // the iterator that asks this one
  kProducer,       // with the type: what an event makes for one on another thread,
  kProducerType,   //
  kConsumer,       // and what it takes
  kConsumerType,   //
  kParallelism,    // of an iterator
  kDeterministic,  //
  kBufferLimit,    //
  kBatchSize,      //
  kShapes,         // "[16,96,96,3]"
  kFunctionCall,   // a call of a tf.function, and whether it was traced for it
  kEagerOp,        // an op that Python ran by itself
  kIsFunction,     // or a function
  kHloOp,          // an op of a compiled function
  kGraph,          // a captured graph that a kernel belongs to
  kDeviceName,     // of a plane
  kDeviceVendor,   //
  kMemorySize,     //
  kProfileStart,   //
  kCount
};
StatRole RoleOfStat(std::string_view name);

struct StatName {
  std::string name;
  StatRole role = StatRole::kNone;
};
using StatNames = IdTable<StatName>;

struct Stat {
  int64_t name = 0;  // in StatNames
  uint64_t number = 0;
  double real = 0;
  std::string_view text;
  bool is_reference = false;  // the text is the name of the stat `number`
  bool ok = true;
};
Stat ReadStat(std::string_view message);
// A text, wherever it stands.
std::string_view TextOf(const Stat& stat, const StatNames& names);

// Of one event, what has a role. Cleared by a mask: most events have two or three of them.
class EventStats {
 public:
  void Clear() { has_ = 0; }
  void Add(StatRole role, const Stat& stat, const StatNames& names) {
    const auto at = static_cast<size_t>(role);
    has_ |= Bit(role);
    numbers_[at] = stat.number;
    texts_[at] = TextOf(stat, names);
  }
  static constexpr uint32_t Bit(StatRole role) {
    return uint32_t{1} << static_cast<unsigned>(role);
  }
  bool Has(StatRole role) const { return HasAny(Bit(role)); }
  bool HasAny(uint32_t bits) const { return (has_ & bits) != 0; }
  uint64_t Number(StatRole role) const {
    return Has(role) ? numbers_[static_cast<size_t>(role)] : 0;
  }
  std::string_view Text(StatRole role) const {
    return Has(role) ? texts_[static_cast<size_t>(role)] : std::string_view();
  }

 private:
  static constexpr size_t kRoles = static_cast<size_t>(StatRole::kCount);
  static_assert(kRoles <= 32);
  uint32_t has_ = 0;
  std::array<uint64_t, kRoles> numbers_{};
  std::array<std::string_view, kRoles> texts_{};
};

// The bytes of an XSpace at any offset, a window of the file at a time. Private to the room.
//
// A plane's names stand behind its events, so a file is read twice: once over, for the names, and
// then for the events. A file that is not packed is read through a window of a MiB and never lies
// in memory as a whole; of a packed one what comes out does, for it cannot be read out of order.
// One thread at a time.

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

// What is where in an XSpace: its planes with their names, and the offsets of their lines' events.
// Private to the room. One thread at a time.
//
// The field numbers are those of tsl/profiler/protobuf/xplane.proto.

// What events of one kind share.
struct EventName {
  std::string name;
  std::string display_name;  // shorter, where there is one
};

struct Line {
  int64_t id = 0;
  std::string name;
  int64_t timestamp_ns = 0;  // its events' offsets count from here
  uint64_t events_from = 0;  // offset of the first event's tag
  uint64_t end = 0;
};

struct Plane {
  int64_t id = 0;
  std::string name;
  std::vector<Line> lines;
  IdTable<EventName> event_names;
  StatNames stat_names;
  // Of the plane itself.
  std::string device_name;
  std::string device_vendor;
  uint64_t memory_bytes = 0;
  int64_t profile_start_ns = 0;  // since 1970
};

struct Fault {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string reason;
  bool cut = false;  // the file ends there
};

struct SpaceIndex {
  std::vector<Plane> planes;
  std::vector<std::string> messages;  // errors and warnings of whoever recorded it
  std::vector<std::string> hosts;
  std::vector<Fault> faults;  // what of the file is no XSpace
  uint64_t left_out = 0;      // planes, lines, names and messages past the limits below
  bool cut_names = false;     // one was longer than what is kept of it
};

// Whatever a file declares, no more than these are kept.
constexpr size_t kMostPlanes = 4'096;
constexpr size_t kMostLines = 65'536;           // of all planes
constexpr size_t kMostNames = size_t{1} << 21;  // likewise
constexpr size_t kMostEntryBytes = size_t{64} << 20;

// An error is the disk's, or that the allowance is spent. A file that is something else gives an
// index with faults.
Result<SpaceIndex> IndexSpace(SpaceBytes& bytes);

}  // namespace stallscope::importers::xplane

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_SPACE_H_
