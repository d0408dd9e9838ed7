#include "analyzer/model/saver.h"

#include <utility>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/writer.h"

namespace stallscope::model {
namespace {

class RunNames final : public trace::NameSource {
 public:
  explicit RunNames(const Run& run) : run_(run) {}
  std::string StageName(StageId id) const override { return std::string(run_.NameOf(id)); }
  std::string QueueName(QueueId id) const override { return std::string(run_.NameOf(id)); }
  std::string TrackName(TrackId id) const override { return std::string(run_.NameOf(id)); }
  std::string CounterName(CounterId id) const override { return std::string(run_.NameOf(id)); }
  std::string String(trace::StringId id) const override { return std::string(run_.Text(id)); }

 private:
  const Run& run_;
};

class Saver {
 public:
  Saver(const Run& run, trace::TraceWriter& writer)
      : run_(run), names_(run), builder_(names_), writer_(writer) {}

  Status Save() {
    STALLSCOPE_RETURN_IF_ERROR(SaveDefinitions());
    for (const Track& track : run_.tracks) STALLSCOPE_RETURN_IF_ERROR(SaveSpans(track));
    STALLSCOPE_RETURN_IF_ERROR(SaveRows());
    STALLSCOPE_RETURN_IF_ERROR(Flush());
    return SaveSeal();
  }

 private:
  trace::Anchor AnchorOf() const { return {0, run_.info.start_ns, run_.info.start_realtime_ns}; }
  Status Flush(trace::FrameType type = trace::FrameType::kChunk) {
    if (builder_.Empty()) return {};
    return writer_.Append(type, builder_.Finish(AnchorOf()));
  }
  Status FlushIfFull() { return builder_.Full() ? Flush() : Status(); }

  Status SaveDefinitions() {
    trace::RunInfo info = run_.info;
    // The loader puts the file's name before each again.
    const std::string prefix = run_.path + ": ";
    info.warnings = run_.quality.warnings;
    for (std::string& warning : info.warnings) {
      if (warning.starts_with(prefix)) warning.erase(0, prefix.size());
    }
    builder_.Define(info);
    const auto define = [&](const auto& info_of_one) -> Status {
      builder_.Define(info_of_one);
      return FlushIfFull();
    };
    for (const auto& stage : run_.stages) STALLSCOPE_RETURN_IF_ERROR(define(stage));
    for (const auto& queue : run_.queues) STALLSCOPE_RETURN_IF_ERROR(define(queue.info));
    for (const auto& track : run_.tracks) STALLSCOPE_RETURN_IF_ERROR(define(track.info));
    for (const auto& counter : run_.counters) STALLSCOPE_RETURN_IF_ERROR(define(counter));
    for (const auto& process : run_.processes) STALLSCOPE_RETURN_IF_ERROR(define(process));
    for (const auto& loader : run_.loaders) STALLSCOPE_RETURN_IF_ERROR(define(loader.info));
    for (const auto& op : run_.ops) STALLSCOPE_RETURN_IF_ERROR(define(op));
    for (const auto& code : run_.code_lines) STALLSCOPE_RETURN_IF_ERROR(define(code));
    return {};
  }

  Status SaveSpans(const Track& track) {
    const trace::SpanColumns& spans = track.spans;
    for (size_t i = 0; i < spans.size(); ++i) {
      builder_.AddSpan(track.info.id, run_.ClassOf(track, i), spans.start_ns[i], spans.EndNs(i),
                       ItemId{spans.item[i]});
      const uint64_t bytes = spans.bytes.empty() ? 0 : spans.bytes[i];
      const uint64_t cpu_ns = spans.cpu_ns.empty() ? 0 : spans.cpu_ns[i];
      if (bytes != 0 || cpu_ns != 0) builder_.AddCost(bytes, cpu_ns);
      if (!spans.waker.empty() && spans.waker[i] != 0) {
        builder_.AddWaker(TrackId{spans.waker[i] - 1});
      }
      STALLSCOPE_RETURN_IF_ERROR(FlushIfFull());
    }
    return {};
  }

  Status SaveRows() {
    Status done;
    trace::ForEachTable(run_.rows, [&](int, const auto& table) {
      for (const auto& row : table) {
        if (!done.ok()) return;
        builder_.Add(row);
        done = FlushIfFull();
      }
    });
    return done;
  }

  Status SaveSeal() {
    trace::Seal seal;
    seal.end_ns = run_.info.end_ns != 0 ? run_.info.end_ns : WindowOf(run_).end_ns;
    // An end of 0 would mean that another seal follows, and none does.
    if (seal.end_ns == 0) seal.end_ns = 1;
    for (const Track& track : run_.tracks) {
      const bool lost = track.tally && track.tally->dropped != 0;
      seal.tallies.push_back(
          lost ? *track.tally
               : trace::Tally{track.info.id, track.spans.size(), track.spans.size(), 0});
    }
    // What the imported file lacks this one lacks, too; a seal has no other place for it.
    seal.first_error = run_.quality.write_error;
    if (seal.first_error.empty() && run_.imported() && !run_.quality.Complete()) {
      seal.first_error = "the file that it was imported from is incomplete";
    }
    builder_.SetSeal(seal);
    return Flush(trace::FrameType::kSeal);
  }

  const Run& run_;
  const RunNames names_;
  trace::ChunkBuilder builder_;
  trace::TraceWriter& writer_;
};

}  // namespace

Status SaveTrace(const Run& run, const std::string& path, FileOps& ops, Over over) {
  if (!run.step_ranks.empty()) {
    return Error{ErrorKind::kUsage, "a trace holds one rank, and this run has several", run.path,
                 "import each rank's file separately"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path, over, ops));
  STALLSCOPE_ASSIGN_OR_RETURN(trace::TraceWriter writer, trace::TraceWriter::Over(std::move(file)));
  STALLSCOPE_RETURN_IF_ERROR(Saver(run, writer).Save());
  STALLSCOPE_RETURN_IF_ERROR(writer.Sync());
  return writer.Publish();
}

}  // namespace stallscope::model
