#include "analyzer/model/growing_trace.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "analyzer/base/file.h"
#include "analyzer/model/assembler.h"
#include "analyzer/model/loading.h"

namespace stallscope::model {
namespace {

// What lies just before the place that was read up to. A frame's end is never written again, so
// other bytes there are another recording's.
constexpr uint64_t kTailBytes = 64;

Result<std::string> TailBefore(const std::string& path, uint64_t offset) {
  STALLSCOPE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::string tail(std::min(offset, kTailBytes), '\0');
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                              file.ReadAt(offset - tail.size(), tail.data(), tail.size()));
  tail.resize(got);
  return tail;
}

// Which file a path leads to; a rename puts another one there, which the reader would not see.
struct Place {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const Place&) const = default;
};

Place PlaceOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

}  // namespace

struct GrowingTrace::Reading {
  Reading(trace::TraceReader opened, Place at) : reader(std::move(opened)), place(at) {}

  trace::TraceReader reader;
  const Place place;
  Assembler assembler;
  uint64_t chunks = 0;
  std::string tail;
};

GrowingTrace::GrowingTrace(std::string path) : path_(std::move(path)) {}

GrowingTrace::~GrowingTrace() = default;

Result<bool> GrowingTrace::GoesOn() const {
  if (reading_ == nullptr || !(PlaceOf(path_) == reading_->place)) return false;
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
    const Place place = PlaceOf(path_);
    STALLSCOPE_ASSIGN_OR_RETURN(trace::TraceReader reader, OpenTrace(path_));
    reading_ = std::make_unique<Reading>(std::move(reader), place);
  }
  Reading& reading = *reading_;
  STALLSCOPE_ASSIGN_OR_RETURN(fresh_chunks_,
                              DecodeAll(reading.reader, reading.assembler,
                                        [](const trace::TraceReader&) { return Status(); }));
  reading.chunks += fresh_chunks_;
  STALLSCOPE_RETURN_IF_ERROR(NoteEnd());
  return Described(reading.assembler.Snapshot(), reading.reader, path_, reading.chunks,
                   reading.assembler.LimitWarnings());
}

}  // namespace stallscope::model
