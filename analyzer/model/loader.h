// Reads a trace of ours into memory: a whole file, or one that is still written.
//
// Whatever the file holds, memory stays within 128 MiB + 12 x its size. Any thread; nothing is
// shared between calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::model {

// Called now and then while a file is read, with the part read so far, if that is known. Returning
// false ends the reading with an error.
using OnProgress = std::function<bool(std::optional<double> part)>;

// An error only if nothing can be used: a missing file, one that is not a trace (the error says
// what it looks like), or one without a single whole chunk. Everything less is in Run::quality.
//
// The file is read twice: first to count, so that every column is reserved exactly (22 bytes per
// span, and what a span has beyond that), then to decode. A file that grows meanwhile is read as
// far as it goes.
Result<Run> LoadTrace(InputFile file, const OnProgress& on_progress = {});
Result<Run> LoadTrace(const std::string& path, const OnProgress& on_progress = {});
// The same, to be changed and saved again: several trainers are not made ranks, which no trace
// holds, and loaders have no names.
Result<Run> LoadToSave(const std::string& path);

// A trace that is still being written. Each reading decodes what has come since the last one and no
// more; what is there by then is copied into the run, because whoever got an earlier one keeps it.
// A file that replaced the first one, or was started again, is read from its beginning. Holds about
// as much memory as the run itself. One thread at a time.
class GrowingTrace {
 public:
  explicit GrowingTrace(std::string path);
  ~GrowingTrace();
  GrowingTrace(const GrowingTrace&) = delete;
  GrowingTrace& operator=(const GrowingTrace&) = delete;

  // The same as LoadTrace of the same file, errors included.
  Result<Run> Read();
  // Chunks that the last reading decoded.
  uint64_t fresh_chunks() const { return fresh_chunks_; }

 private:
  struct Reading;
  Result<bool> GoesOn() const;
  Status NoteEnd();

  const std::string path_;
  std::unique_ptr<Reading> reading_;
  uint64_t fresh_chunks_ = 0;
};

}  // namespace stallscope::model
