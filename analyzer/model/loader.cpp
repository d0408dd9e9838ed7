#include "analyzer/model/loader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/model/assembler.h"
#include "analyzer/model/content.h"
#include "analyzer/trace/limits.h"
#include "analyzer/trace/reader.h"

namespace stallscope::model {
namespace {

// More damaged places than these are summarized.
constexpr size_t kPlacesInWords = 3;

std::string Count(uint64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

// "12 steps before it were read"
std::string WhatWasRead(const Run& run) {
  const uint64_t steps = run.rows.steps.size();
  const uint64_t spans = CountSpans(run);
  const uint64_t count = steps != 0 ? steps : spans;
  return Count(count, steps != 0 ? "step" : "span") + " before it " +
         (count == 1 ? "was read" : "were read");
}

void WarnOfDamage(const Run& run, std::vector<std::string>& warnings) {
  const DataQuality& quality = run.quality;
  size_t told = 0;
  uint64_t bytes_told = 0;
  for (const trace::DamagedRange& range : quality.damaged_ranges) {
    const std::string where = run.path + ", offset " + std::to_string(range.offset) + ": ";
    if (quality.cut_at == range.offset) {
      warnings.push_back(where + "the file ends inside a frame; " + WhatWasRead(run));
    } else if (told < kPlacesInWords) {
      warnings.push_back(where + Count(range.length, "byte") + " could not be read (" +
                         range.reason + ")");
      ++told;
    } else {
      continue;
    }
    bytes_told += range.length;
  }
  if (bytes_told < quality.damaged_bytes) {
    warnings.push_back(run.path + ": " + Count(quality.damaged_bytes - bytes_told, "byte") +
                       " more could not be read in other places");
  }
  if (quality.missing_frames != 0) {
    warnings.push_back(run.path + ": " + Count(quality.missing_frames, "frame") +
                       (quality.missing_frames == 1 ? " is missing" : " are missing"));
  }
}

void AddWarnings(const std::vector<std::string>& limit_warnings, Run& run) {
  const DataQuality& quality = run.quality;
  std::vector<std::string> warnings;
  WarnOfDamage(run, warnings);
  if (!quality.sealed) {
    warnings.push_back(run.path +
                       ": no seal: the recording did not end cleanly or is still running");
  }
  if (quality.dropped != 0) {
    std::string line = run.path + ": " + std::to_string(quality.dropped);
    if (quality.emitted) line += " of " + std::to_string(*quality.emitted);
    warnings.push_back(line + " events were dropped while recording");
  }
  if (quality.emitted && *quality.emitted - *quality.stored != quality.dropped) {
    warnings.push_back(run.path + ": the seal's counts do not add up");
  }
  if (!quality.write_error.empty()) {
    warnings.push_back(run.path +
                       (run.imported() ? ": part of the run is missing from this file: "
                                       : ": the recorder could not write everything: ") +
                       quality.write_error);
  }
  for (const std::string& warning : limit_warnings) warnings.push_back(run.path + ": " + warning);
  for (const std::string& warning : run.info.warnings)
    warnings.push_back(run.path + ": " + warning);
  run.quality.warnings = std::move(warnings);
}

Error NothingReadable(const std::string& path, const DataQuality& quality) {
  uint64_t offset = 0;
  if (!quality.damaged_ranges.empty()) offset = quality.damaged_ranges.front().offset;
  return Error{ErrorKind::kInput,
               quality.cut_at ? "the file ends inside its first frame; nothing could be read"
                              : "no part of the trace could be read",
               path + ", offset " + std::to_string(quality.cut_at.value_or(offset)),
               "record the run again"};
}

constexpr size_t kSniffBytes = 4096;

bool HoldsChunk(const trace::TraceReader::Frame& frame) {
  return frame.header.type == trace::FrameType::kChunk ||
         frame.header.type == trace::FrameType::kSeal;
}

Status DescribeDamage(const trace::TraceReader& reader, DataQuality& quality) {
  const trace::Damage& damage = reader.damage();
  quality.frames = reader.frames();
  quality.damaged_bytes = damage.bytes;
  quality.damaged_ranges = damage.ranges;
  quality.missing_frames = damage.missing_frames;
  quality.cut_at = damage.cut_at;
  if (!damage.cut_at) return {};
  STALLSCOPE_ASSIGN_OR_RETURN(const uint64_t size, reader.file().Size());
  // The file may have grown since: no more than one frame can have been cut.
  const uint64_t longest = trace::kFrameHeaderSize + trace::kMaxPayload;
  const uint64_t cut = std::min(size > *damage.cut_at ? size - *damage.cut_at : 0, longest);
  quality.damaged_bytes += cut;
  quality.damaged_ranges.push_back({*damage.cut_at, cut, "the file ends inside a frame"});
  return {};
}

// If the file is not a trace, an error that says what it looks like.
Result<trace::TraceReader> OpenTrace(InputFile file) {
  std::string start(kSniffBytes, '\0');
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, start.data(), start.size()));
  start.resize(got);
  if (!trace::TraceReader::LooksLikeTrace(start)) return NotATrace(file.path(), LooksLike(start));
  return trace::TraceReader::Open(std::move(file));
}

// After each frame; an error ends the reading.
using AfterFrame = std::function<Status(const trace::TraceReader& reader)>;

// What the chunks that follow will bring.
Result<Expected> CountAll(trace::TraceReader& reader, const AfterFrame& after) {
  Expected expected;
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto frame, reader.NextFrame());
    if (!frame) return expected;
    if (HoldsChunk(*frame)) expected.Add(trace::CountChunk(frame->payload));
    STALLSCOPE_RETURN_IF_ERROR(after(reader));
  }
}

// Gives them to the assembler. How many could be read.
Result<uint64_t> DecodeAll(trace::TraceReader& reader, Assembler& assembler,
                           const AfterFrame& after) {
  uint64_t chunks = 0;
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto frame, reader.NextFrame());
    if (!frame) return chunks;
    STALLSCOPE_RETURN_IF_ERROR(after(reader));
    if (!HoldsChunk(*frame)) continue;
    Result<trace::Chunk> chunk = trace::DecodeChunk(frame->payload);
    if (!chunk.ok()) {
      reader.MarkDamaged(*frame, chunk.error().what);
      continue;
    }
    ++chunks;
    if (!assembler.Add(std::move(chunk).value())) {
      reader.MarkDamaged(*frame, "spans whose columns do not fit their count");
    }
  }
}

// What the file is and what of it was lost, into the run that `chunks` chunks of it have made. An
// error if nothing of it can be used.
Result<Run> Described(Run run, const trace::TraceReader& reader, uint64_t chunks,
                      const std::vector<std::string>& limit_warnings) {
  run.path = reader.file().path();
  run.format = "sst";
  run.format_version =
      std::to_string(reader.header().major) + "." + std::to_string(reader.header().minor);
  STALLSCOPE_RETURN_IF_ERROR(DescribeDamage(reader, run.quality));
  if (chunks == 0 && run.quality.damaged_bytes != 0) return NothingReadable(run.path, run.quality);
  AddWarnings(limit_warnings, run);
  return run;
}

constexpr uint64_t kTellEveryBytes = uint64_t{1} << 20;
constexpr double kCounting = 0.2;  // its part of the whole: nothing is decoded

// Tells how far a pass over the file is.
class Teller {
 public:
  Teller(const OnProgress& on_progress, uint64_t bytes)
      : on_progress_(on_progress), bytes_(static_cast<double>(std::max<uint64_t>(bytes, 1))) {}

  void BeginPass(double from, double to) {
    from_ = from;
    to_ = to;
    told_at_ = 0;
  }

  Status After(const trace::TraceReader& reader) {
    if (!on_progress_ || reader.offset() - told_at_ < kTellEveryBytes) return {};
    told_at_ = reader.offset();
    const double part = std::min(static_cast<double>(told_at_) / bytes_, 1.0);
    if (on_progress_(from_ + (to_ - from_) * part)) return {};
    return Error{ErrorKind::kInput, "reading was canceled", "", ""};
  }

 private:
  const OnProgress& on_progress_;
  const double bytes_;
  double from_ = 0;
  double to_ = 1;
  uint64_t told_at_ = 0;
};

// The bytes just before the place that was read up to. The end of a frame is never rewritten, so
// other bytes there belong to another recording.
constexpr uint64_t kTailBytes = 64;

Result<std::string> TailBefore(const std::string& path, uint64_t offset) {
  STALLSCOPE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::string tail(std::min(offset, kTailBytes), '\0');
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                              file.ReadAt(offset - tail.size(), tail.data(), tail.size()));
  tail.resize(got);
  return tail;
}

// Which file a path leads to: after a rename it is another one, which the reader would not notice.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

FileIdentity IdentityOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

}  // namespace

Result<Run> LoadTrace(const std::string& path, const OnProgress& on_progress) {
  STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return LoadTrace(std::move(file), on_progress);
}

namespace {

Result<Run> Load(InputFile file, Trainers trainers, const OnProgress& on_progress) {
  STALLSCOPE_ASSIGN_OR_RETURN(trace::TraceReader reader, OpenTrace(std::move(file)));
  STALLSCOPE_ASSIGN_OR_RETURN(const uint64_t bytes, reader.file().Size());
  Teller teller(on_progress, bytes);
  const auto after = [&](const trace::TraceReader& at) { return teller.After(at); };
  Assembler assembler;
  {
    teller.BeginPass(0, kCounting);
    STALLSCOPE_ASSIGN_OR_RETURN(const Expected expected, CountAll(reader, after));
    assembler.Reserve(expected);
  }
  reader.Rewind();
  teller.BeginPass(kCounting, 1);
  STALLSCOPE_ASSIGN_OR_RETURN(const uint64_t chunks, DecodeAll(reader, assembler, after));
  const std::vector<std::string> limit_warnings = assembler.LimitWarnings();
  return Described(assembler.Finish(trainers), reader, chunks, limit_warnings);
}

}  // namespace

Result<Run> LoadTrace(InputFile file, const OnProgress& on_progress) {
  return Load(std::move(file), Trainers::kSeparate, on_progress);
}

Result<Run> LoadToSave(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return Load(std::move(file), Trainers::kAsRecorded, {});
}

struct GrowingTrace::Reading {
  Reading(trace::TraceReader opened, FileIdentity at) : reader(std::move(opened)), identity(at) {}

  trace::TraceReader reader;
  const FileIdentity identity;
  Assembler assembler;
  uint64_t chunks = 0;
  std::string tail;
};

GrowingTrace::GrowingTrace(std::string path) : path_(std::move(path)) {}

GrowingTrace::~GrowingTrace() = default;

Result<bool> GrowingTrace::GoesOn() const {
  if (reading_ == nullptr || !(IdentityOf(path_) == reading_->identity)) return false;
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string tail, TailBefore(path_, reading_->reader.offset()));
  return tail == reading_->tail;
}

Status GrowingTrace::NoteEnd() {
  STALLSCOPE_ASSIGN_OR_RETURN(reading_->tail, TailBefore(path_, reading_->reader.offset()));
  return {};
}

Result<Run> GrowingTrace::Read() {
  STALLSCOPE_ASSIGN_OR_RETURN(const bool goes_on, GoesOn());
  if (!goes_on) {
    const FileIdentity identity = IdentityOf(path_);
    STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path_));
    STALLSCOPE_ASSIGN_OR_RETURN(trace::TraceReader reader, OpenTrace(std::move(file)));
    reading_ = std::make_unique<Reading>(std::move(reader), identity);
  }
  Reading& reading = *reading_;
  STALLSCOPE_ASSIGN_OR_RETURN(fresh_chunks_,
                              DecodeAll(reading.reader, reading.assembler,
                                        [](const trace::TraceReader&) { return Status(); }));
  reading.chunks += fresh_chunks_;
  STALLSCOPE_RETURN_IF_ERROR(NoteEnd());
  return Described(reading.assembler.Snapshot(), reading.reader, reading.chunks,
                   reading.assembler.LimitWarnings());
}

}  // namespace stallscope::model
