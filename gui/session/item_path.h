// The way of one element or batch, from the file to the step. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/run.h"
#include "gui/session/view.h"

namespace stallscope::session {

struct PathStop {
  IntervalRef at;
  ItemId item;  // changes where a stage makes one of several
  Range when;
  std::string what;  // "decode on decode worker 1", "h2d copy", "step 17"
};

struct ItemPath {
  ItemId item;
  std::string file;  // where it came from; empty: not recorded
  uint64_t record = 0;
  uint64_t bytes = 0;
  std::vector<PathStop> stops;   // by start
  std::optional<uint64_t> step;  // that took it
};

// Of a batch the way of its last-arriving element, then its own. One pass over the spans.
ItemPath PathOf(const model::Run& run, ItemId item);

}  // namespace stallscope::session
