// The elements of one file, recorded as they are read. One thread at a time, not always the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "collectors/pipeline/reader.h"
#include "collectors/pipeline/runner.h"

namespace stallscope::pipeline {

class FileStream {
 public:
  // `shared` must outlive it. The file is opened by the first Next().
  FileStream(const ReaderShared& shared, StageId stage, size_t file, uint32_t epoch)
      : shared_(shared),
        stage_(stage),
        file_(file),
        epoch_(epoch),
        meter_(shared.context->slow_down) {}

  // The next element; nothing at the end. Bad ones are left out and counted where the spec says so.
  Result<std::optional<Element>> Next();

 private:
  Result<bool> Read(Element& element);
  // Returns the error, unless bad elements are to be skipped.
  Status Judge(Error error, uint64_t bytes);

  const ReaderShared& shared_;
  const StageId stage_;
  const size_t file_;
  const uint32_t epoch_;
  std::unique_ptr<Reader> reader_;
  bool ended_ = false;
  uint64_t lost_bytes_ = 0;
  trace::StringId path_;
  WorkMeter meter_;
};

}  // namespace stallscope::pipeline
