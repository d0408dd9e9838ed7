// What the processes and threads of TensorFlow's trace.json and of TF1's timelines stand for, by
// their names. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TENSORFLOW_LANES_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TENSORFLOW_LANES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stallscope::importers::chrome {

enum class LaneRole : uint8_t {
  kNone,        // nothing of TensorFlow's
  kHost,        // a thread of the host
  kStream,      // what a device really did
  kDerived,     // what was made from the streams: never counted again
  kStepNumbers  // derived, and its events are the steps
};

struct LaneMeaning {
  LaneRole role = LaneRole::kNone;
  uint32_t device = 0;
};

// `numbered`: the file has streams by number, so that "stream:all" and "memcpy" repeat them.
LaneMeaning MeaningOf(std::string_view process, std::string_view thread, bool numbered);

// "/gpu:0/stream:12 Compute", a stream by its number.
bool IsNumberedStream(std::string_view process);

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TENSORFLOW_LANES_H_
