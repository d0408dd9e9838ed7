#include "analyzer/trace/writer.h"

namespace stallscope::trace {

Result<TraceWriter> TraceWriter::Over(OutputFile file) {
  STALLSCOPE_RETURN_IF_ERROR(file.Append(EncodeFileHeader(FileHeader{})));
  return TraceWriter(std::move(file));
}

Result<TraceWriter> TraceWriter::Create(const std::string& path, FileOps& ops) {
  STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path, Over::kNoInput, ops));
  STALLSCOPE_ASSIGN_OR_RETURN(TraceWriter writer, TraceWriter::Over(std::move(file)));
  STALLSCOPE_RETURN_IF_ERROR(writer.Publish());
  return writer;
}

Status TraceWriter::Append(FrameType type, std::string_view payload, uint32_t stream) {
  uint32_t& sequence = next_sequence_[stream];
  STALLSCOPE_RETURN_IF_ERROR(file_.Append(EncodeFrame(type, stream, sequence, payload)));
  ++sequence;
  return {};
}

}  // namespace stallscope::trace
