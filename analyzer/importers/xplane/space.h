// An XSpace file: its bytes at any offset, what is where in it, and the named values (stats) of its
// events. One thread at a time.
//
// The field numbers are those of tsl/profiler/protobuf/xplane.proto.
#pragma once

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

// What a stat means: its name, which the plane's table of names gives. The few that the importer
// needs have a role; the others are skipped unread.
enum class StatRole : uint8_t {
  kNone,
  kStepNum,        // marks a step of the trainer
  kGroupId,        // the step to which the profiler itself assigned an event
  kCorrelation,    // ties a host call to what it launched
  kMemcpyDetails,  // "size:112 dest:4 async:0", see copies.h
  kId,             // of an iterator, or of a run of a graph
  kParentId,       // the iterator that asks this one
  kProducer,       // what an event makes for one on another thread,
  kConsumer,       // and what it takes
  kParallelism,    // of an iterator
  kDeterministic,  //
  kBufferLimit,    //
  kBufferSize,     //
  kAutotune,       //
  kBatchSize,      //
  kShapes,         // "[16,96,96,3]"
  kTypes,          // "uint8"
  kDropRemainder,  //
  kCycleLength,    //
  kBlockLength,    //
  kNumShards,      //
  kFunctionCall,   // a call of a tf.function, and whether that traced it
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
  std::string_view text;
  bool is_reference = false;  // the text is the name of the stat `number`
  bool ok = true;
};
Stat ReadStat(std::string_view message);
// Its text, or that of the name that it refers to.
std::string_view TextOf(const Stat& stat, const StatNames& names);

// One event's stats that have a role. Cleared by a mask: most events have two or three of them.
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

// The bytes of an XSpace at any offset, one window of the file at a time.
//
// A plane's names follow its events, so a file is read twice: first for the names, then for the
// events. A file that is not packed is read through a window of one MiB and is never in memory as a
// whole; what a packed one unpacks to is, because it cannot be read out of order.
class SpaceBytes {
 public:
  // No protobuf message can be larger, so no real file is.
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;

  // `source` must outlive the object.
  static Result<SpaceBytes> Open(ByteSource& source);

  uint64_t size() const { return size_; }
  // The bytes from `offset` on: at least `least` of them, or all to the end of the file if that is
  // nearer; usually far more. Valid until the next call. Fails if the disk does.
  Result<std::string_view> From(uint64_t offset, size_t least);

  // The file's, to which everything made from it is charged.
  Allowance& allowance() { return source_->allowance(); }
  Status CheckAllowance() const { return source_->CheckAllowance(); }

 private:
  SpaceBytes(InputFile file, uint64_t size, ByteSource& source)
      : source_(&source), file_(std::move(file)), size_(size) {}

  ByteSource* source_;
  InputFile file_;
  std::string held_;  // the window
  uint64_t held_from_ = 0;
  uint64_t size_ = 0;
};

// What events of one kind share.
struct EventName {
  std::string name;
  std::string display_name;  // shorter, if there is one
};

struct Line {
  int64_t id = 0;
  std::string name;
  int64_t timestamp_ns = 0;  // the events' offsets count from here
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
  std::vector<std::string> messages;  // the profiler's errors and warnings
  std::vector<std::string> hosts;
  std::vector<Fault> faults;  // parts of the file that are not an XSpace
  uint64_t left_out = 0;      // planes, lines, names and messages past the limits below
  bool cut_names = false;     // one was longer than the kept part
};

// Whatever a file declares, no more than this is kept.
constexpr size_t kMostPlanes = 4'096;
constexpr size_t kMostLines = 65'536;           // of all planes
constexpr size_t kMostNames = size_t{1} << 21;  // of all planes
constexpr size_t kMostEntryBytes = size_t{64} << 20;

// Fails if the disk does, or if the allowance is spent. A file that is something else yields an
// index with faults.
Result<SpaceIndex> IndexSpace(SpaceBytes& bytes);

}  // namespace stallscope::importers::xplane
