// The threads of a trace file: what its (pid, tid) pairs are called, and which tracks they have.
// One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_LANES_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_LANES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::chrome {

// A "B" that waits for its "E".
struct OpenSpan {
  std::string name;
  uint16_t span_class = 0;
  int64_t start_ns = 0;
};

struct Lane {
  uint32_t process = 0;  // of Lanes
  std::string thread;    // its tid
  std::string name;
  TrackId detail;  // None until it is needed, as the next
  TrackId accounted;
  std::vector<OpenSpan> open;
  int64_t last_ns = 0;
};

struct Process {
  std::string id;  // its pid
  std::string name;
  std::string labels;
};

class Lanes {
 public:
  explicit Lanes(RunBuilder& builder)
      : builder_(builder),
        process_numbers_(builder.allowance()),
        lane_numbers_(builder.allowance()) {}

  uint32_t ProcessOf(std::string_view pid);
  // The number of a lane; numbers are quicker to compare than texts.
  uint32_t Of(std::string_view pid, std::string_view tid);
  Lane& operator[](uint32_t lane) { return lanes_[lane]; }
  Process& process(uint32_t number) { return processes_[number]; }
  size_t size() const { return lanes_.size(); }

  // The track of what a thread did operation by operation, and the one that is accounted to stages.
  TrackId Detail(uint32_t lane);
  TrackId Accounted(uint32_t lane);
  // Names the tracks once all names are known.
  void NameTracks();

 private:
  std::string NameOf(const Lane& lane) const;

  RunBuilder& builder_;
  std::vector<Process> processes_;
  std::vector<Lane> lanes_;
  TextTable process_numbers_;
  TextTable lane_numbers_;
  std::string key_;
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_LANES_H_
