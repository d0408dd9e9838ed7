// One recorded execution in memory: what every analysis reads.
//
// Plain data, whoever made it: the loader, an importer, a merge of ranks. All of them promise:
//  - Stages, queues, tracks, counters, processes and loaders are at the index that is their id;
//    each has a name.
//  - Every id in spans, rows and definitions is either unknown (None) or within its table.
//  - Every time is valid (trace/limits.h), so the difference of two never overflows.
//  - Spans of a track are in the order in which it emitted them, which is the order of their
//    ends: a span that encloses others comes after them. Steps are sorted by index (of several
//    ranks: by index, then rank), gaps by track and time; the other tables are in the order of the
//    file.
// Made once, then only read, by any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/damage.h"
#include "analyzer/trace/events.h"
#include "analyzer/trace/span_codec.h"

namespace stallscope::model {

// How far a run can be trusted: what was lost while it was recorded, and what of the file could not
// be read.
struct DataQuality {
  bool sealed = false;  // the recording ended cleanly and recorded what it lost
  // Events, by the seal; emitted = stored + dropped. Unknown without one.
  std::optional<uint64_t> emitted;
  std::optional<uint64_t> stored;
  uint64_t dropped = 0;  // without a seal: by the gaps that were written

  uint64_t frames = 0;         // that were read
  uint64_t damaged_bytes = 0;  // of the file; a cut tail included
  std::vector<trace::DamagedRange> damaged_ranges;
  uint64_t missing_frames = 0;
  std::optional<uint64_t> cut_at;  // the file ends inside the frame that begins here
  // Parts that are past the limits of limits.h or malformed; of a foreign file, events, names or
  // whatever else it has many of.
  uint64_t left_out = 0;
  std::string write_error;  // what the recorder met, by the seal

  // One line each, with the file and, if it matters, the offset.
  std::vector<std::string> warnings;

  // Nothing is known to be lost.
  bool Complete() const {
    return sealed && dropped == 0 && damaged_bytes == 0 && missing_frames == 0 && !cut_at &&
           left_out == 0 && write_error.empty();
  }
};

struct Queue {
  trace::QueueInfo info;
  StageId producer;  // the stage that fills it; None for a lock
  uint32_t rank = 0;
};

struct Track {
  trace::TrackInfo info;
  uint32_t rank = 0;
  trace::SpanColumns spans;
  std::optional<trace::Tally> tally;  // from the seal
};

struct Loader {
  trace::LoaderInfo info;
  // loader, loader2, ...: by how many steps it fed. Stages of all but the first begin with it.
  std::string name;
  uint64_t steps = 0;
  uint32_t rank = 0;
  // The loader that another trainer constructed in the same place. It has the stages of both.
  LoaderId same_as = {};
};

struct Run {
  std::string path;    // as it was given
  std::string format;  // "sst", or the foreign format's name
  std::string format_version;

  trace::RunInfo info;
  std::vector<trace::StageInfo> stages;
  std::vector<Queue> queues;
  std::vector<Track> tracks;
  std::vector<trace::CounterInfo> counters;
  std::vector<trace::ProcessInfo> processes;  // of a job
  std::vector<Loader> loaders;
  std::vector<trace::OpInfo> ops;            // in the order of the file; one per name
  std::vector<trace::CodeLines> code_lines;  // one per function
  std::vector<std::string> strings;
  std::vector<trace::SpanClass> span_classes;
  trace::EventRows rows;
  std::vector<uint32_t> step_ranks;  // as long as rows.steps; empty if there is one rank
  // Where each rank has a recording of its own, all ranks of info.host. 0: those of the host are
  // here.
  uint32_t ranks_of_host = 0;
  DataQuality quality;

  const trace::SpanClass& ClassOf(const Track& track, size_t span) const {
    return span_classes[track.spans.span_class[span]];
  }
  // The name, or nothing for an id that is not known.
  std::string_view NameOf(StageId id) const;
  std::string_view NameOf(QueueId id) const;
  std::string_view NameOf(TrackId id) const;
  std::string_view NameOf(CounterId id) const;
  std::string_view Text(trace::StringId id) const;
  // Where the op of this name is; null: unknown.
  const trace::OpInfo* OpOf(trace::StringId name) const;
  // The measured lines of the function there; null: none.
  const trace::CodeLines* LinesOf(std::string_view file, uint32_t first_line) const;
  std::span<const trace::Gap> GapsOf(TrackId track) const;
  // Imported from another profiler's file, whatever file it is in now.
  bool imported() const { return !info.imported_from.empty(); }
  uint32_t RankOfStep(size_t step) const {
    return step_ranks.empty() ? info.rank : step_ranks[step];
  }
};

// Intervals on a track, whichever table holds them: spans, copies and kernels.
uint64_t CountSpans(const Run& run);
// For each track; copies and kernels of no track are in none.
std::vector<uint64_t> SpansByTrack(const Run& run);

struct TimeRange {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};
// From the start of the recording to its end; if the trace does not have them (the recorder was
// killed), the first or last thing that happened.
TimeRange WindowOf(const Run& run);

// Step k lasts from its request to the next step's request on the same rank (in a job, of the same
// trainer), the last one to when its device work was done.
struct StepInterval {
  uint64_t index = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};
// As long as rows.steps and in their order.
std::vector<StepInterval> StepIntervals(const Run& run);

bool IsTrainer(const trace::StageInfo& stage);
// False for None.
bool IsTrainer(const Run& run, StageId stage);
// Of a job: sends batches from the workers to the trainer.
bool IsTransport(const Run& run, StageId stage);

// Whether `info.limits`, which names figures before a colon ("steps: ..."), has this one: the run
// lacks it, or derived it.
bool IsLimited(const Run& run, std::string_view figure);
// The figure that such a limit names.
std::string_view LimitedFigure(std::string_view limit);

// A wait of the trainer for a batch, as an importer found it. A recorded run has its waits in its
// steps; an imported one may fetch anywhere in a step, and several times.
bool IsBatchWait(const trace::SpanClass& what);

}  // namespace stallscope::model
