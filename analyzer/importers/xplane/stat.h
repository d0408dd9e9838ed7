// A named value on an event, a plane or a metadata entry, and the names that matter here. Private
// to the room.
//
// The meaning of a stat is its name, which the plane's table of names gives; the few that the
// importer asks for have a role, and an event's other stats are skipped unread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_STAT_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_STAT_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

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
    has_ |= uint32_t{1} << at;
    numbers_[at] = stat.number;
    texts_[at] = TextOf(stat, names);
  }
  bool Has(StatRole role) const { return (has_ >> static_cast<unsigned>(role) & 1) != 0; }
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

}  // namespace stallscope::importers::xplane

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_STAT_H_
