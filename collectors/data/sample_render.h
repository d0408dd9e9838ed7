// Inside this room: images of the generator, rendered by many threads, given in order.
#ifndef STALLSCOPE_COLLECTORS_DATA_SAMPLE_RENDER_H_
#define STALLSCOPE_COLLECTORS_DATA_SAMPLE_RENDER_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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

// Renders a sample; belongs to one thread.
class SampleRenderer {
 public:
  explicit SampleRenderer(const GenerateOptions& options);
  ~SampleRenderer();
  Status Render(int64_t image, Sample& into);

 private:
  struct Tools;
  const GenerateOptions& options_;
  std::unique_ptr<Tools> tools_;
};

// Threads that render ahead of the one that takes, by a bounded number of samples. `options` must
// outlive it.
class SampleRender {
 public:
  explicit SampleRender(const GenerateOptions& options);
  ~SampleRender();  // stops and joins
  SampleRender(const SampleRender&) = delete;
  SampleRender& operator=(const SampleRender&) = delete;

  // The next sample, in order; swapped with `into`, whose memory is used again.
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
  Status no_thread_;              // why there is not one
  std::optional<Error> failure_;  // of a thread
  ThreadGroup threads_;
};

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_SAMPLE_RENDER_H_
