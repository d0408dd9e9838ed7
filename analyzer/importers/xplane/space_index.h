// What is where in an XSpace: its planes with their names, and the offsets of their lines' events.
// Private to the room. One thread at a time.
//
// The field numbers are those of tsl/profiler/protobuf/xplane.proto.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_SPACE_INDEX_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_SPACE_INDEX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/id_table.h"
#include "analyzer/importers/xplane/space_bytes.h"
#include "analyzer/importers/xplane/stat.h"

namespace stallscope::importers::xplane {

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

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_SPACE_INDEX_H_
