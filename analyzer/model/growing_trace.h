// A trace of ours that is still written. Each reading decodes what has come since the last one and
// no more; what is there by then is copied into the run, because whoever got an earlier one keeps
// it.
//
// A file that was put in the place of the first one, or written anew, is read from its beginning.
// Holds about as much memory as the run itself. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_MODEL_GROWING_TRACE_H_
#define STALLSCOPE_ANALYZER_MODEL_GROWING_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::model {

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

#endif  // STALLSCOPE_ANALYZER_MODEL_GROWING_TRACE_H_
