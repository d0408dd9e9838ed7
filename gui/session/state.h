// Everything the window shows at one instant. The session publishes a new value for each change;
// views only read. Large parts are shared between states.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/result.h"
#include "analyzer/compare/compare.h"
#include "analyzer/report/sweep_table.h"
#include "analyzer/spec/knobs.h"
#include "gui/session/item_path.h"
#include "gui/session/open_run.h"
#include "gui/session/settings.h"
#include "gui/session/span_table.h"
#include "gui/session/view.h"
#include "replay/sweep/sweep.h"

namespace stallscope::session {

using JobNumber = uint32_t;

enum class JobKind : uint8_t {
  kOpen,
  kFollow,
  kAnalyze,
  kSpans,
  kFind,
  kExplain,
  kCompare,
  kSweep,
  kVerify,
  kRecord,
  kSettings,
  kExport
};

// What a worker is doing.
struct Job {
  JobNumber number = 0;
  JobKind kind = JobKind::kOpen;
  std::string title;           // "reading run.sst"
  std::string detail;          // "3 of 12 runs"; may be empty
  std::optional<double> done;  // 0 to 1; empty: unknown
  bool cancelled = false;      // asked to stop
  bool operator==(const Job&) const = default;
};

enum class NoticeLevel : uint8_t { kInfo, kWarning, kError };

// Something the user should read; stays until dismissed.
struct Notice {
  uint32_t number = 0;
  NoticeLevel level = NoticeLevel::kInfo;
  std::string text;  // one line
  bool operator==(const Notice&) const = default;
};

// What covers the panels; at most one.
enum class Overlay : uint8_t {
  kNone,
  kPalette,
  kHelp,
  kFind,
  kOpenPath,
  kTour,
  kSavePath,
  kQuestion
};

// What the user must settle before a trace's own run is made again (replaying.h). Closing a
// question cancels it.
struct Question {
  enum class Kind : uint8_t {
    kAgree,    // answered by ConfirmRerun or CancelRerun
    kLostData  // answered by FindData, EmulateRerun or CancelRerun
  };
  Kind kind = Kind::kAgree;
  std::string title;
  std::vector<std::string> lines;  // what would happen: "reads ...", "runs ...", "writes ..."
  std::string folder;              // kLostData: where the data was expected; may be empty
  bool operator==(const Question&) const = default;
};

// What only the program with its window can do. It answers with an intent or does it; a new number
// is a new request.
struct Request {
  enum class Kind : uint8_t {
    kNone,
    kOpenDialog,     // answer: OpenFile
    kSaveDialog,     // answer: the intent for `save`, with the path
    kCopy,           // put `text` on the clipboard
    kExportPicture,  // panel and path are set; PNG or SVG by the path's ending
    kQuit
  };
  uint64_t number = 0;
  Kind kind = Kind::kNone;
  std::string text;
  std::string path;  // the suggested one, or the one to write
  Panel panel = Panel::kOverview;
};

// What a requested path is for.
enum class OpenWhat : uint8_t { kTrace, kBase, kSpec, kSweep, kDataFolder };
enum class SaveWhat : uint8_t { kHtml, kPicture, kPatchedSpec, kSpec, kTrace, kTable };

struct SpanListing {
  SpanQuery query;                                       // that is asked for
  std::shared_ptr<const SpanList> list;                  // of the last answered query
  std::optional<Error> error;                            // of the last one
  size_t first = 0;                                      // of the selected rows, and
  size_t last = 0;                                       // one past them; equal: none
  std::shared_ptr<const DurationStatistics> statistics;  // of the selected rows
};

// The explanation of the selected stall, or the path of the followed element.
struct Explanation {
  std::optional<uint64_t> step_row;
  std::vector<attribution::ChainLink> chain;  // by start; see attribution.h
  std::optional<ItemPath> path;
};

struct CompareState {
  RunNumber base = kNoRun;  // against State::active
  std::shared_ptr<const compare::Comparison> comparison;
  std::shared_ptr<const compare::RunSummary> base_summary;
  std::shared_ptr<const compare::RunSummary> now_summary;
  bool linked_zoom = true;
};

using SweepRunMode = replay::SweepMode;

// Of a sweep or a verification.
struct ReplayProgress {
  bool running = false;
  std::string doing;  // "runs", "predictions"
  size_t done = 0;
  size_t total = 0;
  std::optional<Error> error;
};

struct SweepState : ReplayProgress {
  // The panel's input, one setting per line: "decode.parallelism=1,2,4".
  std::vector<std::string> vary;
  std::vector<std::string> problems;  // one per line; empty: fine
  uint64_t points = 0;                // that the lines make; 0 if one has a problem
  SweepRunMode mode = SweepRunMode::kSimulate;
  unsigned repeats = 1;
  std::shared_ptr<const report::SweepTable> table;  // grows while it runs; null: none yet
  std::string path;                                 // of the sweep file
};

struct QueueGauge {
  std::string name;
  uint64_t depth = 0;
  uint64_t capacity = 0;
};

struct RecordState {
  std::string spec_text;
  std::string spec_path;         // where it came from; empty: none
  std::optional<Error> problem;  // of the text as typed; empty: it is valid
  std::vector<KnobInfo> knobs;   // of the last valid text
  std::string output;            // the trace to write
  bool running = false;
  bool stopping = false;
  uint64_t steps = 0;
  uint64_t most_steps = 0;  // 0: until the data ends
  double samples_per_s = 0;
  double input_stall = 0;
  std::vector<double> rates;       // samples/s over the run so far, oldest first
  std::vector<QueueGauge> queues;  // from the growing trace
  std::optional<Error> error;
  RunNumber recorded = kNoRun;  // the recorded run, once it is open
};

// Which recommendation is being measured.
struct VerifyState : ReplayProgress {
  std::optional<size_t> finding;  // row of the report; empty: all of them
};

// Per panel, in whole pixels, with the size of its text.
struct PanelSize {
  int width = 0;
  int height = 0;
  float character = 8;  // mean width of a character, and
  float line = 16;      // height of a line, in pixels
  bool operator==(const PanelSize&) const = default;
};

struct State {
  uint64_t version = 0;  // grows with each change
  std::vector<std::shared_ptr<const OpenRun>> runs;
  RunNumber active = kNoRun;

  View view;
  Layout layout;
  std::vector<Bookmark> bookmarks;  // of the active run
  bool can_go_back = false;
  bool can_go_forward = false;
  std::optional<Range> measured;  // dragged, but not (yet) a limit

  // Of the active run: of `view.range` where that is set and analyzed, else of the whole run.
  // Members are null until they are there.
  Analysis shown;
  SpanListing spans;
  Explanation explanation;
  CompareState compare;
  SweepState sweep;
  VerifyState verify;
  RecordState record;

  std::string find_text;
  size_t find_hits = 0;
  size_t find_at = 0;

  std::vector<Job> jobs;
  std::vector<Notice> notices;
  Overlay overlay = Overlay::kNone;
  OpenWhat open = OpenWhat::kTrace;  // with kOpenPath or an open dialog: OpenFile, OpenSpec, ...
  SaveWhat save = SaveWhat::kHtml;   // with kSavePath or a save dialog
  size_t save_finding = 0;           // with kPatchedSpec
  int tour_step = 0;                 // with kTour: 0, 1, 2
  Question question;                 // with kQuestion
  std::vector<std::string> samples;  // sample traces to offer
  Request request;
  Settings settings;
  std::array<PanelSize, kPanels> sizes;

  const OpenRun* Run(RunNumber number) const;
  const OpenRun* Active() const { return Run(active); }
};

}  // namespace stallscope::session
