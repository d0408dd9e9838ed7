#include "analyzer/export/records.h"

#include <utility>

#include "analyzer/attribution/attribution.h"
#include "analyzer/export/kineto_partition.h"
#include "analyzer/export/words.h"

namespace stallscope::exporting {
namespace {

// A name, or that it is not known.
void Name(std::string_view name, RecordWriter& writer) {
  if (name.empty()) {
    writer.Unknown();
  } else {
    writer.Text(name);
  }
}

// The fields that spans, copies and kernels all begin with.
void BeginSpan(const model::Run& run, TrackId track, const char* kind, std::string_view name,
               int64_t start_ns, int64_t end_ns, RecordWriter& writer) {
  writer.Id(track);
  Name(run.NameOf(track), writer);
  writer.Text(kind);
  Name(name, writer);
  writer.Int(start_ns);
  writer.Int(end_ns);
}

// The fields that they all end with.
Status EndSpan(const model::Run& run, TrackId track, StageId stage, RecordWriter& writer) {
  const ProcessId process = track.known() ? run.tracks[track.value].info.process : ProcessId();
  Name(run.NameOf(stage), writer);
  if (process.known()) {
    Name(run.processes[process.value].name, writer);
    writer.Uint(run.processes[process.value].pid);
  } else {
    writer.Unknown();
    writer.Unknown();
  }
  return writer.EndRecord();
}

// A column that not every track has.
template <class Number>
void Optional(const std::vector<Number>& column, size_t i, RecordWriter& writer) {
  if (column.empty()) {
    writer.Unknown();
  } else {
    writer.Uint(column[i]);
  }
}

Status WriteSpan(const model::Run& run, const model::Track& track, size_t i, RecordWriter& writer) {
  const trace::SpanColumns& spans = track.spans;
  const trace::SpanClass& span_class = run.ClassOf(track, i);
  const bool wait = span_class.kind == trace::SpanKind::kWait;
  // Of a wait the stage is the one that its track works for.
  const StageId stage = span_class.stage.known() ? span_class.stage : track.info.stage;
  // A foreign trace's spans have names of their own.
  const std::string_view name =
      span_class.name.known() ? run.Text(span_class.name) : run.NameOf(stage);
  const char* kind = span_class.activity != trace::SpanActivity::kNone && !wait
                         ? WordFor(span_class.activity)
                         : "work";
  BeginSpan(run, track.info.id, wait ? "wait" : kind, name, spans.start_ns[i], spans.EndNs(i),
            writer);
  if (wait) {
    writer.Text(WordFor(span_class.cause));
  } else {
    writer.Unknown();
  }
  Name(run.NameOf(span_class.queue), writer);
  writer.Id(ItemId{spans.item[i]});
  Optional(spans.bytes, i, writer);
  Optional(spans.cpu_ns, i, writer);
  const uint32_t waker = spans.waker.empty() ? 0 : spans.waker[i];
  writer.Id(TrackId{waker - 1});
  return EndSpan(run, track.info.id, stage, writer);
}

}  // namespace

Status WriteSpanRecords(const model::Run& run, RecordWriter& writer) {
  writer.Begin({"track", "track_name", "kind", "name", "start_ns", "end_ns", "cause", "queue",
                "item", "bytes", "cpu_ns", "waker", "stage", "process", "pid"});
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      STALLSCOPE_RETURN_IF_ERROR(WriteSpan(run, track, i, writer));
    }
  }
  for (const trace::Copy& copy : run.rows.copies) {
    BeginSpan(run, copy.track, "copy", WordFor(copy.direction), copy.start_ns, copy.end_ns, writer);
    writer.Unknown();
    writer.Unknown();
    writer.Id(copy.batch);
    writer.Uint(copy.bytes);
    writer.Unknown();
    writer.Unknown();
    STALLSCOPE_RETURN_IF_ERROR(EndSpan(run, copy.track, {}, writer));
  }
  for (const trace::Kernel& kernel : run.rows.kernels) {
    BeginSpan(run, kernel.track, "kernel", run.Text(kernel.name), kernel.start_ns, kernel.end_ns,
              writer);
    writer.Unknown();
    writer.Unknown();
    writer.Id(kernel.batch);
    writer.Unknown();
    writer.Unknown();
    writer.Unknown();
    STALLSCOPE_RETURN_IF_ERROR(EndSpan(run, kernel.track, {}, writer));
  }
  return {};
}

Status WriteStepRecords(const model::Run& run, RecordWriter& writer) {
  std::vector<std::string> columns = {"step", "start_ns", "end_ns"};
  for (const attribution::Category category : attribution::kReportOrder) {
    columns.push_back(std::string(attribution::WordFor(category)) + "_ns");
  }
  writer.Begin(std::move(columns));
  const attribution::StepPartition partition = attribution::PartitionSteps(run);
  for (const attribution::StepShare& step : partition.steps) {
    writer.Uint(step.index);
    writer.Int(step.start_ns);
    writer.Int(step.end_ns);
    for (const attribution::Category category : attribution::kReportOrder) {
      if (partition.known[attribution::At(category)]) {
        writer.Int(step.ns[attribution::At(category)]);
      } else {
        writer.Unknown();
      }
    }
    STALLSCOPE_RETURN_IF_ERROR(writer.EndRecord());
  }
  return {};
}

Status WriteKinetoStepRecords(const model::Run& run, RecordWriter& writer) {
  writer.Begin({"step", "kernel_ns", "memcpy_ns", "memset_ns", "communication_ns", "runtime_ns",
                "dataloader_ns", "cpu_exec_ns", "other_ns"});
  for (const KinetoStep& step : PartitionAsKineto(run)) {
    writer.Uint(step.step);
    for (const int64_t ns : step.ns) writer.Int(ns);
    STALLSCOPE_RETURN_IF_ERROR(writer.EndRecord());
  }
  return {};
}

Status WriteCounterRecords(const model::Run& run, RecordWriter& writer) {
  writer.Begin({"time_ns", "counter", "unit", "value"});
  for (const trace::Sample& sample : run.rows.samples) {
    writer.Int(sample.time_ns);
    Name(run.NameOf(sample.counter), writer);
    Name(sample.counter.known() ? run.counters[sample.counter.value].unit : std::string_view(),
         writer);
    writer.Double(sample.value);
    STALLSCOPE_RETURN_IF_ERROR(writer.EndRecord());
  }
  for (const trace::QueueEvent& event : run.rows.queue_events) {
    writer.Int(event.time_ns);
    writer.Text("queue " + std::string(run.NameOf(event.queue)));
    writer.Text("elements");
    writer.Uint(event.depth);
    STALLSCOPE_RETURN_IF_ERROR(writer.EndRecord());
  }
  return {};
}

}  // namespace stallscope::exporting
