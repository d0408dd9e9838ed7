// How far a run can be trusted: what was lost while it was recorded, and what of the file could not
// be read.
#ifndef STALLSCOPE_ANALYZER_MODEL_DATA_QUALITY_H_
#define STALLSCOPE_ANALYZER_MODEL_DATA_QUALITY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/damage.h"

namespace stallscope::model {

struct DataQuality {
  bool sealed = false;  // the recording ended cleanly and says what it lost
  // Events, by the seal; emitted = stored + dropped. Not known without one.
  std::optional<uint64_t> emitted;
  std::optional<uint64_t> stored;
  uint64_t dropped = 0;  // without a seal: by the gaps that were written

  uint64_t frames = 0;         // that were read
  uint64_t damaged_bytes = 0;  // of the file; a cut tail included
  std::vector<trace::DamagedRange> damaged_ranges;
  uint64_t missing_frames = 0;
  std::optional<uint64_t> cut_at;  // the file ends inside the frame that begins here
  // Parts that lie past the limits of limits.h or that are malformed; of a foreign file events,
  // names or whatever else it has many of.
  uint64_t left_out = 0;
  std::string write_error;  // what the recorder met, by the seal

  // One line each, with the file and where it matters the offset.
  std::vector<std::string> warnings;

  // Nothing is known to be lost.
  bool Complete() const {
    return sealed && dropped == 0 && damaged_bytes == 0 && missing_frames == 0 && !cut_at &&
           left_out == 0 && write_error.empty();
  }
};

}  // namespace stallscope::model

#endif  // STALLSCOPE_ANALYZER_MODEL_DATA_QUALITY_H_
