// read (one thread) -> tokenize (some threads) -> batch, train (the calling thread).
#ifndef EXAMPLE_PIPELINE_H_
#define EXAMPLE_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "collectors/recorder/recorder.h"
#include "options.h"

namespace example {

struct Outcome {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  uint64_t steps = 0;
  double seconds = 0;
  double loss = 0;  // of the last step
  std::string error;
};

// Trains until `stop`, which is asked before each element, says so or a file cannot be read.
// Records what happens where `recorder` is not null.
Outcome RunPipeline(const Options& options, stallscope::recorder::Recorder* recorder,
                    const std::function<bool()>& stop);

}  // namespace example

#endif  // EXAMPLE_PIPELINE_H_
