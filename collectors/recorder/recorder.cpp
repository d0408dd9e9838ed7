#include "collectors/recorder/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "collectors/recorder/joined.h"
#include "collectors/recorder/recording.h"

namespace stallscope::recorder {

Result<std::unique_ptr<Recorder>> Recorder::Start(const std::string& path, trace::RunInfo run,
                                                  const Options& options) {
  if (!std::has_single_bit(options.ring_slots) || options.ring_slots < 16) {
    return Error{ErrorKind::kUsage, "ring_slots must be a power of two of at least 16",
                 "recorder options", ""};
  }
  if (options.join_session) {
    if (auto joined = JoinedRecording::FromEnvironment(run, options)) {
      return std::unique_ptr<Recorder>(new Recorder(std::move(joined)));
    }
  }
  STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file,
                              OutputFile::Create(path, Over::kNoInput, *options.ops));
  STALLSCOPE_ASSIGN_OR_RETURN(trace::TraceWriter writer, trace::TraceWriter::Over(std::move(file)));
  if (options.publish) STALLSCOPE_RETURN_IF_ERROR(writer.Publish());
  run.start_ns = MonotonicNs();
  run.start_realtime_ns = RealtimeNs();
  run.tick_source = TicksAreTsc() ? "tsc" : "monotonic";
  run.process = static_cast<uint64_t>(getpid());
  auto recording = std::make_shared<FileRecording>(std::move(writer), std::move(run), options);
  STALLSCOPE_RETURN_IF_ERROR(recording->Begin());
  return std::unique_ptr<Recorder>(new Recorder(std::move(recording)));
}

template <class Info>
auto Recorder::Named(Info info) {
  const auto id = names().Define(std::move(info));
  recording_->NamesChanged();
  return id;
}

Recorder::Recorder(std::shared_ptr<Recording> recording) : recording_(std::move(recording)) {}
Recorder::~Recorder() { recording_->Stop(); }

StageId Recorder::DefineStage(trace::StageInfo stage) { return Named(std::move(stage)); }
void Recorder::RedefineStage(const trace::StageInfo& stage) {
  names().Redefine(stage);
  recording_->NamesChanged();
}
QueueId Recorder::DefineQueue(trace::QueueInfo queue) { return Named(std::move(queue)); }
CounterId Recorder::DefineCounter(const std::string& name, const std::string& unit) {
  return Named(trace::CounterInfo{CounterId{}, name, unit});
}
trace::StringId Recorder::DefineString(std::string_view text) { return Named(text); }
DefinitionTable& Recorder::names() { return recording_->names(); }
std::shared_ptr<void> Recorder::Adopt(std::unique_ptr<AdoptedRing> ring, TrackId track,
                                      std::shared_ptr<ForeignProcess> process) {
  return recording_->Adopt(std::move(ring), track, std::move(process));
}
std::shared_ptr<Track> Recorder::NewTrack(trace::TrackInfo info) {
  return recording_->NewTrack(std::move(info));
}

void Recorder::Knob(std::string_view path, std::string_view old_value, std::string_view new_value) {
  recording_->Knob(
      {MonotonicNs(), DefineString(path), DefineString(old_value), DefineString(new_value)});
}

void Recorder::Probe(const trace::Probe& window) { recording_->Probe(window); }

void Recorder::UpdateRun(const std::function<void(trace::RunInfo&)>& change) {
  recording_->names().UpdateRun(change);
}

void StepCount::Add(const StepCount& more) {
  if (more.steps == 0) return;
  first_ns = steps == 0 ? more.first_ns : std::min(first_ns, more.first_ns);
  last_ns = steps == 0 ? more.last_ns : std::max(last_ns, more.last_ns);
  steps += more.steps;
  waited_ns += more.waited_ns;
  all_ns += more.all_ns;
}

StepCount Recorder::steps() const { return recording_->steps(); }
Status Recorder::Publish() { return recording_->Publish(); }
Status Recorder::Flush() { return recording_->Flush(); }
void Recorder::Fail(const Error& error) { recording_->Fail(error); }
Summary Recorder::Stop() { return recording_->Stop(); }

ThreadScope::ThreadScope(Recorder* recorder, const std::string& name, StageId stage)
    : before_(internal::current_track) {
  if (recorder == nullptr) return;
  trace::TrackInfo info;
  info.name = name;
  info.stage = stage;
  info.thread = static_cast<uint64_t>(syscall(SYS_gettid));
  track_ = recorder->NewTrack(std::move(info));
  internal::current_track = track_.get();
}

ThreadScope::~ThreadScope() {
  if (track_ != nullptr) internal::current_track = before_;
}

}  // namespace stallscope::recorder
