// Hand-built traces: name a few things, say what happened, write the file.
//
//   TraceBuilder trace;
//   const StageId decode = trace.Stage("decode", "map");
//   const TrackId worker = trace.Thread("decode worker 0", decode);
//   trace.Work(worker, decode, 1000, 2500, ItemId{7});
//   trace.EndChunk();                      // the next events go into another frame
//   trace.rows().Add(trace::Step{...});    // whatever else a chunk can hold
//   trace.Seal(9000);
//   trace.Write(dir / "run.sst");
//
// The file holds one frame with the run and all definitions, then one frame a chunk, then the seal.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/writer.h"

namespace stallscope::test {

class TraceBuilder : private trace::NameSource {
 public:
  TraceBuilder() : chunk_(*this) {
    run.name = "test";
    run.tool = "trace_builder";
    run.start_ns = 1'000;
    run.start_realtime_ns = 1'700'000'000'000'001'000;
    run.host.name = "host";
    run.device = {"emulated", "nothing", 0, ""};
  }

  // Part of the first frame; change it before Write().
  trace::RunInfo run;
  // False: the frame of definitions is left out, as if it had been lost.
  bool with_definitions = true;

  StageId Stage(const std::string& name, const std::string& kind = "map", uint32_t workers = 1,
                std::vector<StageId> inputs = {}) {
    const StageId id{static_cast<uint32_t>(stages_.size())};
    stages_.push_back({id, name, kind, std::move(inputs), QueueId::None(), workers, true, loader});
    return id;
  }
  // Of the stages that are named next; none at first.
  LoaderId loader;
  // The queue that `producer` fills.
  QueueId Queue(const std::string& name, uint64_t capacity, StageId producer = StageId::None()) {
    const QueueId id{static_cast<uint32_t>(queues_.size())};
    queues_.push_back({id, name, capacity, false});
    if (producer.known()) stages_[producer.value].queue = id;
    return id;
  }
  TrackId Thread(const std::string& name, StageId stage = StageId::None(), ProcessId process = {}) {
    const TrackId id = AddTrack(name, trace::TrackKind::kThread, stage, 0);
    tracks_.back().process = process;
    return id;
  }
  uint64_t ThreadNumber(TrackId track) const { return tracks_[track.value].thread; }
  TrackId Stream(const std::string& name, uint32_t device = 0) {
    return AddTrack(name, trace::TrackKind::kStream, StageId::None(), device);
  }
  CounterId Counter(const std::string& name, const std::string& unit, ProcessId process = {}) {
    const CounterId id{static_cast<uint32_t>(counters_.size())};
    counters_.push_back({id, name, unit, process});
    return id;
  }
  ProcessId Process(const std::string& name, uint64_t pid, uint64_t parent = 1) {
    const ProcessId id{static_cast<uint32_t>(processes_.size())};
    processes_.push_back({id, name, pid, parent, {}, run.start_ns, 0});
    return id;
  }
  void Rank(ProcessId process, uint32_t rank, uint32_t of_host = 0) {
    processes_[process.value].rank = rank;
    processes_[process.value].ranks_of_host = of_host;
  }
  LoaderId Loader(trace::LoaderInfo info) {
    info.id = LoaderId{static_cast<uint32_t>(loaders_.size())};
    loaders_.push_back(std::move(info));
    return loaders_.back().id;
  }
  void Op(const std::string& name, const std::string& file, uint32_t line) {
    ops_.push_back({name, file, line});
  }
  void Lines(trace::CodeLines lines) { code_lines_.push_back(std::move(lines)); }
  trace::StringId Text(const std::string& text) {
    strings_.push_back(text);
    return trace::StringId{static_cast<uint32_t>(strings_.size() - 1)};
  }

  void Work(TrackId track, StageId stage, int64_t start_ns, int64_t end_ns,
            ItemId item = ItemId::None()) {
    chunk_.AddSpan(track, {trace::SpanKind::kWork, stage, trace::WaitCause::kUnknown, {}}, start_ns,
                   end_ns, item);
  }
  // A part of the stage's work.
  void OpWork(TrackId track, StageId stage, trace::StringId op, int64_t start_ns, int64_t end_ns) {
    chunk_.AddSpan(track,
                   {trace::SpanKind::kWork,
                    stage,
                    trace::WaitCause::kUnknown,
                    {},
                    op,
                    trace::SpanActivity::kOp},
                   start_ns, end_ns, {});
  }
  void Wait(TrackId track, trace::WaitCause cause, QueueId queue, int64_t start_ns,
            int64_t end_ns) {
    chunk_.AddSpan(track, {trace::SpanKind::kWait, {}, cause, queue}, start_ns, end_ns, {});
  }
  // A step whose times follow its request at equal distances.
  void Step(uint64_t index, int64_t requested_ns, int64_t device_done_ns,
            TrackId track = TrackId::None()) {
    const int64_t third = (device_done_ns - requested_ns) / 3;
    chunk_.Add(trace::Step{index, requested_ns, requested_ns + third, requested_ns + 2 * third,
                           device_done_ns, ItemId{index}, track, 32, 0});
  }
  // The open chunk, for all other rows and for AddCost and AddWaker.
  trace::ChunkBuilder& rows() { return chunk_; }
  // Ends the chunk; later events go into the next frame.
  void EndChunk() { payloads_.push_back(chunk_.Finish({})); }
  void Seal(int64_t end_ns, std::vector<trace::Tally> tallies = {},
            const std::string& first_error = "") {
    seal_ = trace::Seal{end_ns, std::move(tallies), first_error};
  }

  // The payloads in the order of the file.
  std::vector<std::pair<trace::FrameType, std::string>> Payloads() {
    if (!chunk_.Empty()) EndChunk();
    std::vector<std::pair<trace::FrameType, std::string>> all;
    if (with_definitions) {
      trace::ChunkBuilder first(*this);
      first.Define(run);
      for (const auto& stage : stages_) first.Define(stage);
      for (const auto& queue : queues_) first.Define(queue);
      for (const auto& track : tracks_) first.Define(track);
      for (const auto& counter : counters_) first.Define(counter);
      for (const auto& process : processes_) first.Define(process);
      for (const auto& of_job : loaders_) first.Define(of_job);
      for (const auto& op : ops_) first.Define(op);
      for (const auto& code : code_lines_) first.Define(code);
      all.emplace_back(trace::FrameType::kChunk, first.Finish({}));
    }
    for (const std::string& payload : payloads_)
      all.emplace_back(trace::FrameType::kChunk, payload);
    if (seal_) {
      trace::ChunkBuilder last(*this);
      last.SetSeal(*seal_);
      all.emplace_back(trace::FrameType::kSeal, last.Finish({}));
    }
    return all;
  }
  // Writes the file and returns where its frames begin, with the file's size as the last entry.
  std::vector<uint64_t> Write(const std::string& path) {
    auto writer = trace::TraceWriter::Create(path);
    REQUIRE(writer.ok());
    std::vector<uint64_t> offsets;
    for (const auto& [type, payload] : Payloads()) {
      offsets.push_back(writer.value().size());
      REQUIRE(writer.value().Append(type, payload).ok());
    }
    offsets.push_back(writer.value().size());
    return offsets;
  }

 private:
  TrackId AddTrack(const std::string& name, trace::TrackKind kind, StageId stage, uint32_t device) {
    const TrackId id{static_cast<uint32_t>(tracks_.size())};
    tracks_.push_back({id, name, kind, stage, 1000 + id.value, device});
    return id;
  }
  std::string StageName(StageId id) const override { return stages_[id.value].name; }
  std::string QueueName(QueueId id) const override { return queues_[id.value].name; }
  std::string TrackName(TrackId id) const override { return tracks_[id.value].name; }
  std::string CounterName(CounterId id) const override { return counters_[id.value].name; }
  std::string String(trace::StringId id) const override { return strings_[id.value]; }

  std::vector<trace::StageInfo> stages_;
  std::vector<trace::QueueInfo> queues_;
  std::vector<trace::TrackInfo> tracks_;
  std::vector<trace::CounterInfo> counters_;
  std::vector<trace::ProcessInfo> processes_;
  std::vector<trace::LoaderInfo> loaders_;
  std::vector<trace::OpInfo> ops_;
  std::vector<trace::CodeLines> code_lines_;
  std::vector<std::string> strings_;
  trace::ChunkBuilder chunk_;
  std::vector<std::string> payloads_;
  std::optional<trace::Seal> seal_;
};

}  // namespace stallscope::test
