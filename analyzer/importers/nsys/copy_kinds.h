// What the numbers on an Nsight copy mean. Private to the room; any thread.
//
// Nsight has enumerations of its own: memory kind 0 is pageable, 1 pinned, 2 device, where CUPTI's
// activity records count 1 pageable, 2 pinned, 3 device. Later exports carry them as tables, which
// then count.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_NSYS_COPY_KINDS_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_NSYS_COPY_KINDS_H_

#include <cstdint>
#include <map>

#include "analyzer/importers/nsys/database.h"
#include "analyzer/trace/events.h"

namespace stallscope::importers::nsys {

class CopyKinds {
 public:
  explicit CopyKinds(Database& database);

  trace::CopyDirection DirectionOf(int64_t copy_kind) const;
  // Of the host's end.
  trace::CopyMemory MemoryOf(trace::CopyDirection direction, int64_t source_kind,
                             int64_t destination_kind) const;

 private:
  std::map<int64_t, trace::CopyDirection> directions_;
  std::map<int64_t, trace::CopyMemory> memories_;
};

}  // namespace stallscope::importers::nsys

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_NSYS_COPY_KINDS_H_
