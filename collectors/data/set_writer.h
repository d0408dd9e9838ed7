// Inside this room: the generator's samples, rendered by many threads and written to files in
// order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/base/thread.h"
#include "collectors/data/buffer.h"
#include "collectors/data/generate.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

struct Sample {
  int64_t label = 0;
  Buffer bytes;   // the record, the file or the row; empty for hdf5
  Tensor pixels;  // what the JPEG decodes to; for hdf5
};

// Threads that render a bounded number of samples ahead of Take(). `options` must outlive it.
class SampleRender {
 public:
  explicit SampleRender(const GenerateOptions& options);
  ~SampleRender();  // stops and joins
  SampleRender(const SampleRender&) = delete;
  SampleRender& operator=(const SampleRender&) = delete;

  // The next sample, in order; swapped with `into`, whose memory is reused.
  Status Take(Sample& into);

 private:
  struct Slot {
    Sample sample;
    std::optional<Status> done;
  };
  void Work();

  const GenerateOptions& options_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable room_;
  std::vector<Slot> slots_;  // image i uses slot i % slots_.size()
  int64_t next_ = 0;         // to be rendered
  int64_t taken_ = 0;
  bool stop_ = false;
  Status no_thread_;              // why there is none
  std::optional<Error> failure_;  // of a thread
  ThreadGroup threads_;
};

class SetWriter {
 public:
  virtual ~SetWriter() = default;
  virtual Status Write(int64_t image, const Sample& sample) = 0;
  // The files, without size and hash. After it nothing is open.
  virtual Result<std::vector<ManifestFile>> Finish() = 0;
};

// `options` must outlive it; its folder exists.
std::unique_ptr<SetWriter> MakeSetWriter(const GenerateOptions& options);

// "class_0003": with as many digits as the number of classes needs, so that byte order is label
// order.
std::string ClassFolder(int label, int classes);

// Whether a folder or a file of a set can have this name.
bool IsClassFolder(std::string_view name);
bool IsFileOfSet(std::string_view name);

}  // namespace stallscope::data
