// A run that is open, with all that was found out about it. Made by workers, piece by piece: each
// piece is null until it is there, and never changes once it is. Whoever holds a pointer may read
// it in any thread.
#ifndef STALLSCOPE_GUI_SESSION_OPEN_RUN_H_
#define STALLSCOPE_GUI_SESSION_OPEN_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/groundwork.h"
#include "analyzer/model/run.h"
#include "analyzer/report/report.h"
#include "analyzer/timeline/run_index.h"
#include "gui/session/span_table.h"
#include "gui/session/view.h"

namespace stallscope::session {

// What a run says within a range, or as a whole.
struct Analysis {
  std::optional<Range> range;  // nothing: the whole run
  std::shared_ptr<const attribution::Attribution> attribution;
  std::shared_ptr<const report::Report> report;  // of a range without prices
};

enum class OpenStage : uint8_t { kReading, kIndexing, kAnalysing, kPricing, kReady, kFailed };

// The same number stands for the same opened file as long as it is open, also while it grows.
using RunNumber = uint32_t;
constexpr RunNumber kNoRun = 0;

struct OpenRun {
  RunNumber number = kNoRun;
  std::string path;                // as it was given, the first of
  std::vector<std::string> paths;  // all: one for each rank
  std::string title;               // the file's name
  OpenStage stage = OpenStage::kReading;
  std::optional<Error> error;  // why it could not be opened (kFailed)

  // With kIndexing and later.
  std::shared_ptr<const model::Run> run;
  // With kAnalysing and later: everything on the timeline, and the table of spans.
  std::shared_ptr<const timeline::RunIndex> index;
  std::shared_ptr<const SpanTable> spans;
  // With kPricing and later; its gains are predicted with kReady.
  Analysis whole;
  attribution::GroundworkPtr groundwork;  // of `run`, which it needs: for single stalls
  std::shared_ptr<const std::vector<timeline::LaneIndex>> devices;  // analysis.h
  std::shared_ptr<const std::vector<attribution::StallDetail>> stalls;

  bool following = false;  // it is still being recorded; read again as it grows
  std::string lost;        // it vanished, shrank or lost its recorder: for the trust line
  uint64_t bytes = 0;      // of the file when it was read
  uint64_t revision = 0;   // grows with each reading
};

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_OPEN_RUN_H_
