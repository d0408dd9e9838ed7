// Which thread trains, and where its steps begin. Any thread.
//
// In this order: events with a step's number (tf.profiler's Trace, Keras, JAX's
// StepTraceAnnotation); the `Steps` lines that a profiler made of the devices' work; the waits for
// batches, which RunBuilder finds itself; the calls of the function that the trainer calls again
// and again.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_HOST_STEPS_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_HOST_STEPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/importers/foreign/host_event.h"
#include "analyzer/importers/foreign/step_marks.h"

namespace stallscope::importers {

// Its place in HostEvents::threads; their number where no thread looks like one.
size_t FindTrainer(const HostEvents& host);

// The steps of the trainer that have a number.
std::vector<StepMark> NumberedSteps(const HostEvents& host, size_t trainer);

struct CalledSteps {
  std::string function;
  std::vector<StepMark> marks;
};
// At least three calls of one function; of several that which took longest. Each lasts to the next.
std::optional<CalledSteps> StepsOfCalls(const HostEvents& host, size_t trainer);

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_HOST_STEPS_H_
