// Writes payloads to a trace file, frame by frame, straight to the kernel: whatever was appended
// survives the death of the process. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/trace/frame.h"

namespace stallscope::trace {

class TraceWriter {
 public:
  // Writes the header. The file becomes visible with Publish().
  static Result<TraceWriter> Over(OutputFile file);
  // On a file that is visible at once. `ops` must outlive the writer.
  static Result<TraceWriter> Create(const std::string& path, FileOps& ops = FileOps::Kernel());

  // A frame that could not be written whole is removed: the file ends with the previous frame, and
  // the sequence number is reused.
  Status Append(FrameType type, std::string_view payload, uint32_t stream = 0);
  Status Sync() { return file_.Sync(); }
  Status Publish() { return file_.Publish(); }
  bool published() const { return file_.published(); }

  uint64_t size() const { return file_.size(); }
  const std::string& path() const { return file_.path(); }

 private:
  explicit TraceWriter(OutputFile file) : file_(std::move(file)) {}
  OutputFile file_;
  std::map<uint32_t, uint32_t> next_sequence_;  // by stream
};

}  // namespace stallscope::trace
