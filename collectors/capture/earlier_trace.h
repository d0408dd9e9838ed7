// The trace that a new one is about to replace: kept until the new run can begin, because most runs
// that fail do so before that, and the recording of an hour is worth more than their error.
#ifndef STALLSCOPE_COLLECTORS_CAPTURE_EARLIER_TRACE_H_
#define STALLSCOPE_COLLECTORS_CAPTURE_EARLIER_TRACE_H_

#include <string>

#include "analyzer/base/result.h"

namespace stallscope::capture {

// One thread. A process that dies meanwhile leaves the earlier trace under its second name.
class EarlierTrace {
 public:
  // Gives what is at `path` a second name beside it. Where nothing is, or something else than a
  // file with content, there is nothing to keep. kRun while another run writes it.
  static Result<EarlierTrace> SetAside(const std::string& path);

  // The new run cannot begin: `path` is the earlier trace again.
  void PutBack() const;
  // It has begun.
  void Forget() const;

 private:
  EarlierTrace(std::string path, std::string aside)
      : path_(std::move(path)), aside_(std::move(aside)) {}

  std::string path_;
  std::string aside_;  // empty: there is none
};

}  // namespace stallscope::capture

#endif  // STALLSCOPE_COLLECTORS_CAPTURE_EARLIER_TRACE_H_
