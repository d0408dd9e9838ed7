// An open run with everything derived from it. Workers make it piece by piece: each piece is null
// until it is there, and never changes afterward. Any thread may read through a pointer it holds.
#pragma once

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

// Attribution and report of a range, or of the whole run.
struct Analysis {
  std::optional<Range> range;  // empty: the whole run
  std::shared_ptr<const attribution::Attribution> attribution;
  std::shared_ptr<const report::Report> report;  // of a range: without prices
};

enum class OpenStage : uint8_t { kReading, kIndexing, kAnalyzing, kPricing, kReady, kFailed };

// A number identifies an opened file for as long as it is open, also while it grows.
using RunNumber = uint32_t;
constexpr RunNumber kNoRun = 0;

struct OpenRun {
  RunNumber number = kNoRun;
  std::string path;                // as given; the first of
  std::vector<std::string> paths;  // one per rank
  std::string title;               // the file's name
  OpenStage stage = OpenStage::kReading;
  std::optional<Error> error;  // why it could not be opened (kFailed)

  // With kIndexing and later.
  std::shared_ptr<const model::Run> run;
  // With kAnalyzing and later: everything on the timeline, and the table of spans.
  std::shared_ptr<const timeline::RunIndex> index;
  std::shared_ptr<const SpanTable> spans;
  // With kPricing and later; its gains are predicted with kReady.
  Analysis whole;
  attribution::GroundworkPtr groundwork;  // points into `run`; explains single stalls
  std::shared_ptr<const std::vector<timeline::LaneIndex>> devices;  // analysis.h
  std::shared_ptr<const std::vector<attribution::StallDetail>> stalls;

  bool following = false;  // still being recorded; read again as it grows
  std::string lost;        // why it can no longer be followed, for the trust line
  uint64_t bytes = 0;      // of the file when it was read
  uint64_t revision = 0;   // grows with each reading
};

}  // namespace stallscope::session
