#include "analyzer/model/loading.h"

#include <algorithm>
#include <utility>

#include "analyzer/model/content.h"
#include "analyzer/model/warnings.h"
#include "analyzer/trace/limits.h"

namespace stallscope::model {
namespace {

constexpr size_t kSniffBytes = 4096;

bool HoldsChunk(const trace::TraceReader::Frame& frame) {
  return frame.header.type == trace::FrameType::kChunk ||
         frame.header.type == trace::FrameType::kSeal;
}

Status DescribeDamage(const trace::TraceReader& reader, const std::string& path,
                      DataQuality& quality) {
  const trace::Damage& damage = reader.damage();
  quality.frames = reader.frames();
  quality.damaged_bytes = damage.bytes;
  quality.damaged_ranges = damage.ranges;
  quality.missing_frames = damage.missing_frames;
  quality.cut_at = damage.cut_at;
  if (!damage.cut_at) return {};
  STALLSCOPE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  STALLSCOPE_ASSIGN_OR_RETURN(const uint64_t size, file.Size());
  // The file may have grown since: no more than one frame can have been cut.
  const uint64_t longest = trace::kFrameHeaderSize + trace::kMaxPayload;
  const uint64_t cut = std::min(size > *damage.cut_at ? size - *damage.cut_at : 0, longest);
  quality.damaged_bytes += cut;
  quality.damaged_ranges.push_back({*damage.cut_at, cut, "the file ends inside a frame"});
  return {};
}

}  // namespace

Result<trace::TraceReader> OpenTrace(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::string start(kSniffBytes, '\0');
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, start.data(), start.size()));
  start.resize(got);
  if (!trace::TraceReader::LooksLikeTrace(start)) return NotATrace(path, LooksLike(start));
  return trace::TraceReader::Open(path);
}

Result<Expected> CountAll(trace::TraceReader& reader, const AfterFrame& after) {
  Expected expected;
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto frame, reader.NextFrame());
    if (!frame) return expected;
    if (HoldsChunk(*frame)) expected.Add(trace::CountChunk(frame->payload));
    STALLSCOPE_RETURN_IF_ERROR(after(reader));
  }
}

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

Result<Run> Described(Run run, const trace::TraceReader& reader, const std::string& path,
                      uint64_t chunks, const std::vector<std::string>& limit_warnings) {
  run.path = path;
  run.format = "sst";
  run.format_version =
      std::to_string(reader.header().major) + "." + std::to_string(reader.header().minor);
  STALLSCOPE_RETURN_IF_ERROR(DescribeDamage(reader, path, run.quality));
  if (chunks == 0 && run.quality.damaged_bytes != 0) return NothingReadable(path, run.quality);
  AddWarnings(limit_warnings, run);
  return run;
}

}  // namespace stallscope::model
