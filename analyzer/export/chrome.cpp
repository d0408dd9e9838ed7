#include "analyzer/export/chrome.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/export/lanes.h"
#include "analyzer/export/words.h"

namespace stallscope::exporting {
namespace {

// --- The plumbing: the frame of an event, and the numbers of processes and threads, whose names
// are written with the first event of each ---

struct ThreadNumbers {
  uint64_t pid = 0;
  uint64_t tid = 0;
};

// {"ph":"X","cat":"work","name":"decode"
std::string EventHead(char phase, std::string_view category, std::string_view name) {
  std::string head = "{\"ph\":\"";
  head += phase;
  head += "\",\"cat\":\"";
  AppendJsonEscaped(category, head);
  head += "\",\"name\":\"";
  AppendJsonEscaped(name, head);
  head += '"';
  return head;
}

class ChromeEvents {
 public:
  ChromeEvents(const model::Run& run, TextSink& sink) : run_(run), sink_(sink) {}

  void BeginFile();
  void EndFile();

  uint64_t HostProcess(uint32_t rank);
  // A stream's or copy engine's process is its device, any other track's its process of a job, or
  // the host.
  uint64_t ProcessOf(const model::Track& track);
  uint64_t ProcessOf(ProcessId process, uint32_t rank);
  ThreadNumbers NewThread(uint64_t pid, std::string_view name);

  // An event is opened, given arguments, and closed. `head` is its first fields, as EventHead()
  // makes them.
  void OpenSpan(std::string_view head, ThreadNumbers thread, int64_t start_ns, int64_t end_ns);
  void OpenInstant(std::string_view head, ThreadNumbers thread, int64_t time_ns);
  void OpenCounter(std::string_view head, uint64_t pid, int64_t time_ns);
  void Argument(std::string_view key, uint64_t value);
  void Argument(std::string_view key, double value);
  void Argument(std::string_view key, std::string_view text);
  void Argument(std::string_view key, ItemId item) {
    if (item.known()) Argument(key, item.value);
  }
  Status Close();

  // Places `count` intervals on as many threads as they need and calls emit(i, thread) for each,
  // by ascending start. `start` and `end` give the times of interval i. Returns the first thread,
  // which there is only where there is an interval.
  template <class Start, class End, class Emit>
  Result<ThreadNumbers> Deal(uint64_t pid, const std::string& name, size_t count, Start&& start,
                             End&& end, Emit&& emit);

 private:
  uint64_t Process(uint32_t rank, int64_t device, const std::string& name);
  template <class Value>
  void Metadata(const std::string& what, ThreadNumbers thread, const char* key, const Value& value);
  // A `tid` of 0: the event is the process's.
  void Open(std::string_view head, ThreadNumbers thread, std::string_view more = "");
  void Key(std::string_view key);

  const model::Run& run_;
  TextSink& sink_;
  // By rank and device; -1: the host, -2 - n: process n of a job.
  std::map<std::pair<uint32_t, int64_t>, uint64_t> processes_;
  uint64_t last_tid_ = 0;
  bool any_event_ = false;
  bool any_argument_ = false;
};

template <class Start, class End, class Emit>
Result<ThreadNumbers> ChromeEvents::Deal(uint64_t pid, const std::string& name, size_t count,
                                         Start&& start, End&& end, Emit&& emit) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), uint32_t{0});
  // Outer intervals first: viewers take events of the same start in the order of the file.
  const auto before = [&](uint32_t a, uint32_t b) {
    const int64_t start_a = start(a);
    const int64_t start_b = start(b);
    return start_a != start_b ? start_a < start_b : end(a) > end(b);
  };
  // Most threads have nothing nested, and their spans are in order as they are.
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  Lanes lanes;
  std::vector<ThreadNumbers> threads;
  for (uint32_t i : order) {
    const size_t lane = lanes.Place(start(i), end(i));
    while (lane >= threads.size()) {
      const std::string number = " (" + std::to_string(threads.size() + 1) + ")";
      threads.push_back(NewThread(pid, threads.empty() ? name : name + number));
    }
    STALLSCOPE_RETURN_IF_ERROR(emit(i, threads[lane]));
  }
  return threads.empty() ? ThreadNumbers{} : threads.front();
}

void ChromeEvents::BeginFile() {
  sink_.Add("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":");
  sink_.AddJsonString(run_.info.tool);
  sink_.Add(",\"run\":");
  sink_.AddJsonString(run_.info.name);
  sink_.Add(",\"device_kind\":");
  sink_.AddJsonString(run_.info.device.kind);
  sink_.Add("},\"traceEvents\":[");
}

void ChromeEvents::EndFile() { sink_.Add("\n]}\n"); }

void ChromeEvents::Open(std::string_view head, ThreadNumbers thread, std::string_view more) {
  sink_.Add(any_event_ ? ",\n" : "\n");
  any_event_ = true;
  any_argument_ = false;
  sink_.Add(head);
  sink_.Add(more);
  sink_.Add(",\"pid\":");
  sink_.AddUint(thread.pid);
  if (thread.tid == 0) return;
  sink_.Add(",\"tid\":");
  sink_.AddUint(thread.tid);
}

template <class Value>
void ChromeEvents::Metadata(const std::string& what, ThreadNumbers thread, const char* key,
                            const Value& value) {
  Open("{\"ph\":\"M\",\"name\":\"" + what + "\"", thread);
  Argument(key, value);
  sink_.Add("}}");
}

uint64_t ChromeEvents::Process(uint32_t rank, int64_t device, const std::string& name) {
  const auto [place, is_new] = processes_.try_emplace({rank, device}, processes_.size() + 1);
  const uint64_t pid = place->second;
  if (!is_new) return pid;
  const std::string of_rank = run_.info.world_size > 1 ? "rank " + std::to_string(rank) + ": " : "";
  Metadata("process_name", {pid, 0}, "name", of_rank + name);
  Metadata("process_sort_index", {pid, 0}, "sort_index", pid);
  return pid;
}

uint64_t ChromeEvents::HostProcess(uint32_t rank) {
  const std::string& host = run_.info.host.name;
  return Process(rank, -1, host.empty() ? "host" : "host " + host);
}

uint64_t ChromeEvents::ProcessOf(const model::Track& track) {
  if (!track.info.on_device()) return ProcessOf(track.info.process, track.rank);
  std::string name = "device " + std::to_string(track.info.device);
  if (!run_.info.device.name.empty()) name += " " + run_.info.device.name;
  return Process(track.rank, track.info.device, name);
}

uint64_t ChromeEvents::ProcessOf(ProcessId process, uint32_t rank) {
  if (!process.known()) return HostProcess(rank);
  const trace::ProcessInfo& info = run_.processes[process.value];
  return Process(rank, -2 - int64_t{process.value},
                 info.name + " (pid " + std::to_string(info.pid) + ")");
}

ThreadNumbers ChromeEvents::NewThread(uint64_t pid, std::string_view name) {
  const ThreadNumbers thread{pid, ++last_tid_};
  Metadata("thread_name", thread, "name", name);
  Metadata("thread_sort_index", thread, "sort_index", thread.tid);
  return thread;
}

void ChromeEvents::OpenSpan(std::string_view head, ThreadNumbers thread, int64_t start_ns,
                            int64_t end_ns) {
  Open(head, thread);
  sink_.Add(",\"ts\":");
  sink_.AddMicros(start_ns);
  sink_.Add(",\"dur\":");
  sink_.AddMicros(end_ns - start_ns);
}

void ChromeEvents::OpenInstant(std::string_view head, ThreadNumbers thread, int64_t time_ns) {
  Open(head, thread, ",\"s\":\"t\"");
  sink_.Add(",\"ts\":");
  sink_.AddMicros(time_ns);
}

void ChromeEvents::OpenCounter(std::string_view head, uint64_t pid, int64_t time_ns) {
  Open(head, {pid, 0});
  sink_.Add(",\"ts\":");
  sink_.AddMicros(time_ns);
}

void ChromeEvents::Key(std::string_view key) {
  sink_.Add(any_argument_ ? "," : ",\"args\":{");
  any_argument_ = true;
  sink_.AddJsonString(key);
  sink_.Add(':');
}

void ChromeEvents::Argument(std::string_view key, uint64_t value) {
  Key(key);
  sink_.AddUint(value);
}

void ChromeEvents::Argument(std::string_view key, double value) {
  Key(key);
  if (!sink_.AddDouble(value)) sink_.Add("null");
}

void ChromeEvents::Argument(std::string_view key, std::string_view text) {
  Key(key);
  sink_.AddJsonString(text);
}

Status ChromeEvents::Close() {
  sink_.Add(any_argument_ ? "}}" : "}");
  return sink_.Breathe();
}

// --- What the run becomes ---

// The rows of a table that belong to each track; those of no track come last.
template <class Row>
std::vector<std::vector<uint32_t>> ByTrack(const std::vector<Row>& rows, size_t tracks) {
  std::vector<std::vector<uint32_t>> of_track(tracks + 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    const TrackId track = rows[i].track;
    of_track[track.known() ? track.value : tracks].push_back(static_cast<uint32_t>(i));
  }
  return of_track;
}

// Ends before they start only in files that were not written by us.
int64_t EndOf(int64_t start_ns, int64_t end_ns) { return std::max(start_ns, end_ns); }

class ChromeWriter {
 public:
  ChromeWriter(const model::Run& run, TextSink& sink) : run_(run), events_(run, sink) {}
  Status Write(What what);

 private:
  Status WriteSteps();
  Status WriteTracks();
  Result<ThreadNumbers> WriteTrack(const model::Track& track, const std::vector<uint32_t>& copies,
                                   const std::vector<uint32_t>& kernels);
  Status WriteGaps(const model::Track& track, ThreadNumbers thread);
  Status EmitSpan(const model::Track& track, size_t i, ThreadNumbers thread);
  Status EmitCopy(const trace::Copy& copy, ThreadNumbers thread);
  Status EmitKernel(const trace::Kernel& kernel, ThreadNumbers thread);
  Status WriteCounters();
  Status WriteKnobs();
  Status WriteProbes();

  const model::Run& run_;
  ChromeEvents events_;
  std::vector<std::string> span_heads_;   // by span class
  std::vector<std::string> span_places_;  // "/home/u/train.py:12" of an op; by span class
};

Status ChromeWriter::Write(What what) {
  events_.BeginFile();
  const bool all = what == What::kDefault;
  if (all || what == What::kSteps) STALLSCOPE_RETURN_IF_ERROR(WriteSteps());
  if (all || what == What::kSpans) STALLSCOPE_RETURN_IF_ERROR(WriteTracks());
  if (all || what == What::kCounters) STALLSCOPE_RETURN_IF_ERROR(WriteCounters());
  if (all) STALLSCOPE_RETURN_IF_ERROR(WriteKnobs());
  if (all) STALLSCOPE_RETURN_IF_ERROR(WriteProbes());
  events_.EndFile();
  return {};
}

Status ChromeWriter::WriteSteps() {
  const std::vector<model::StepInterval> intervals = model::StepIntervals(run_);
  std::map<uint32_t, std::vector<size_t>> of_rank;
  for (size_t i = 0; i < intervals.size(); ++i) of_rank[run_.RankOfStep(i)].push_back(i);
  for (const auto& ranked : of_rank) {
    // Lambdas of clang 14 cannot take a structured binding.
    const std::vector<size_t>& steps = ranked.second;
    const auto emit = [&](size_t i, ThreadNumbers thread) {
      const model::StepInterval& interval = intervals[steps[i]];
      const trace::Step& step = run_.rows.steps[steps[i]];
      events_.OpenSpan(EventHead('X', "step", "step " + std::to_string(step.index)), thread,
                       interval.start_ns, interval.end_ns);
      events_.Argument("batch", step.batch);
      events_.Argument("samples", uint64_t{step.samples});
      return events_.Close();
    };
    STALLSCOPE_RETURN_IF_ERROR(events_.Deal(
        events_.HostProcess(ranked.first), "steps", steps.size(),
        [&](size_t i) { return intervals[steps[i]].start_ns; },
        [&](size_t i) { return intervals[steps[i]].end_ns; }, emit));
  }
  return {};
}

Status ChromeWriter::EmitSpan(const model::Track& track, size_t i, ThreadNumbers thread) {
  const trace::SpanColumns& spans = track.spans;
  events_.OpenSpan(span_heads_[spans.span_class[i]], thread, spans.start_ns[i], spans.EndNs(i));
  events_.Argument("item", ItemId{spans.item[i]});
  const std::string& place = span_places_[spans.span_class[i]];
  if (!place.empty()) events_.Argument("at", place);
  if (!spans.bytes.empty() && spans.bytes[i] != 0) events_.Argument("bytes", spans.bytes[i]);
  if (!spans.cpu_ns.empty() && spans.cpu_ns[i] != 0) events_.Argument("cpu_ns", spans.cpu_ns[i]);
  if (!spans.waker.empty() && spans.waker[i] != 0) {
    events_.Argument("waker", run_.NameOf(TrackId{spans.waker[i] - 1}));
  }
  return events_.Close();
}

Status ChromeWriter::EmitCopy(const trace::Copy& copy, ThreadNumbers thread) {
  events_.OpenSpan(EventHead('X', "copy", std::string("copy ") + WordFor(copy.direction)), thread,
                   copy.start_ns, EndOf(copy.start_ns, copy.end_ns));
  events_.Argument("batch", copy.batch);
  events_.Argument("bytes", copy.bytes);
  events_.Argument("memory", std::string_view(WordFor(copy.memory)));
  events_.Argument("correlation", copy.correlation);
  return events_.Close();
}

Status ChromeWriter::EmitKernel(const trace::Kernel& kernel, ThreadNumbers thread) {
  events_.OpenSpan(EventHead('X', "kernel", run_.Text(kernel.name)), thread, kernel.start_ns,
                   EndOf(kernel.start_ns, kernel.end_ns));
  events_.Argument("batch", kernel.batch);
  if (kernel.graph != 0) events_.Argument("graph", kernel.graph);
  events_.Argument("correlation", kernel.correlation);
  return events_.Close();
}

// Spans, copies and kernels of a track are dealt out together: they share its threads.
Result<ThreadNumbers> ChromeWriter::WriteTrack(const model::Track& track,
                                               const std::vector<uint32_t>& copies,
                                               const std::vector<uint32_t>& kernels) {
  const size_t copy_base = track.spans.size();
  const size_t kernel_base = copy_base + copies.size();
  const auto copy = [&](size_t i) -> const trace::Copy& {
    return run_.rows.copies[copies[i - copy_base]];
  };
  const auto kernel = [&](size_t i) -> const trace::Kernel& {
    return run_.rows.kernels[kernels[i - kernel_base]];
  };
  return events_.Deal(
      events_.ProcessOf(track), track.info.name, kernel_base + kernels.size(),
      [&](size_t i) {
        return i < copy_base     ? track.spans.start_ns[i]
               : i < kernel_base ? copy(i).start_ns
                                 : kernel(i).start_ns;
      },
      [&](size_t i) {
        return i < copy_base     ? track.spans.EndNs(i)
               : i < kernel_base ? EndOf(copy(i).start_ns, copy(i).end_ns)
                                 : EndOf(kernel(i).start_ns, kernel(i).end_ns);
      },
      [&](size_t i, ThreadNumbers thread) {
        return i < copy_base     ? EmitSpan(track, i, thread)
               : i < kernel_base ? EmitCopy(copy(i), thread)
                                 : EmitKernel(kernel(i), thread);
      });
}

Status ChromeWriter::WriteGaps(const model::Track& track, ThreadNumbers thread) {
  const std::span<const trace::Gap> gaps = run_.GapsOf(track.info.id);
  if (gaps.empty()) return {};
  const std::string head = EventHead('i', "gap", "gap");
  if (thread.tid == 0) thread = events_.NewThread(events_.ProcessOf(track), track.info.name);
  for (const trace::Gap& gap : gaps) {
    events_.OpenInstant(head, thread, gap.from_ns);
    events_.Argument("dropped", gap.dropped);
    events_.Argument("ns", static_cast<uint64_t>(std::max<int64_t>(0, gap.to_ns - gap.from_ns)));
    STALLSCOPE_RETURN_IF_ERROR(events_.Close());
  }
  return {};
}

Status ChromeWriter::WriteTracks() {
  for (const trace::SpanClass& span_class : run_.span_classes) {
    const trace::OpInfo* const op = span_class.name.known() ? run_.OpOf(span_class.name) : nullptr;
    const bool placed = op != nullptr && !op->file.empty();
    span_places_.push_back(placed ? op->file + ":" + std::to_string(op->line) : "");
    if (span_class.kind == trace::SpanKind::kWork) {
      const bool named = span_class.name.known();
      span_heads_.push_back(
          EventHead('X', WordFor(span_class.activity),
                    named ? run_.Text(span_class.name) : run_.NameOf(span_class.stage)));
      continue;
    }
    std::string name = std::string("wait: ") + WordFor(span_class.cause);
    if (span_class.queue.known()) name += " " + std::string(run_.NameOf(span_class.queue));
    span_heads_.push_back(EventHead('X', "wait", name));
  }
  const size_t tracks = run_.tracks.size();
  const auto copies = ByTrack(run_.rows.copies, tracks);
  const auto kernels = ByTrack(run_.rows.kernels, tracks);
  for (size_t i = 0; i < tracks; ++i) {
    const model::Track& track = run_.tracks[i];
    STALLSCOPE_ASSIGN_OR_RETURN(const ThreadNumbers thread,
                                WriteTrack(track, copies[i], kernels[i]));
    STALLSCOPE_RETURN_IF_ERROR(WriteGaps(track, thread));
  }
  if (copies[tracks].empty() && kernels[tracks].empty()) return {};
  model::Track nowhere;
  nowhere.info.name = "unknown track";
  nowhere.info.kind = trace::TrackKind::kStream;
  nowhere.rank = run_.info.rank;
  STALLSCOPE_RETURN_IF_ERROR(WriteTrack(nowhere, copies[tracks], kernels[tracks]));
  return {};
}

Status ChromeWriter::WriteCounters() {
  for (const trace::Sample& sample : run_.rows.samples) {
    if (!sample.counter.known() || !std::isfinite(sample.value)) continue;
    const trace::CounterInfo& counter = run_.counters[sample.counter.value];
    events_.OpenCounter(EventHead('C', "counter", counter.name),
                        events_.ProcessOf(counter.process, run_.info.rank), sample.time_ns);
    events_.Argument(counter.unit.empty() ? "value" : counter.unit, sample.value);
    STALLSCOPE_RETURN_IF_ERROR(events_.Close());
  }
  for (const trace::QueueEvent& event : run_.rows.queue_events) {
    if (!event.queue.known()) continue;
    const model::Queue& queue = run_.queues[event.queue.value];
    events_.OpenCounter(EventHead('C', "queue", "queue " + queue.info.name),
                        events_.HostProcess(queue.rank), event.time_ns);
    events_.Argument("depth", uint64_t{event.depth});
    STALLSCOPE_RETURN_IF_ERROR(events_.Close());
  }
  return {};
}

Status ChromeWriter::WriteKnobs() {
  if (run_.rows.knobs.empty()) return {};
  const ThreadNumbers thread = events_.NewThread(events_.HostProcess(run_.info.rank), "knobs");
  for (const trace::KnobChange& knob : run_.rows.knobs) {
    const std::string name = std::string(run_.Text(knob.path)) + ": " +
                             std::string(run_.Text(knob.old_value)) + " to " +
                             std::string(run_.Text(knob.new_value));
    events_.OpenInstant(EventHead('i', "knob", name), thread, knob.time_ns);
    STALLSCOPE_RETURN_IF_ERROR(events_.Close());
  }
  return {};
}

// The undisturbed windows are the gaps between these.
Status ChromeWriter::WriteProbes() {
  std::vector<const trace::Probe*> slowed;
  for (const trace::Probe& window : run_.rows.probes) {
    if (window.stage.known()) slowed.push_back(&window);
  }
  const auto emit = [&](size_t i, ThreadNumbers thread) {
    const trace::Probe& window = *slowed[i];
    events_.OpenSpan(EventHead('X', "probe", "slowed: " + std::string(run_.NameOf(window.stage))),
                     thread, window.start_ns, EndOf(window.start_ns, window.end_ns));
    events_.Argument("elements", window.elements);
    events_.Argument("work_ns", window.work_ns);
    events_.Argument("delay_ns", window.delay_ns);
    return events_.Close();
  };
  const auto dealt = events_.Deal(
      slowed.empty() ? 0 : events_.HostProcess(run_.info.rank), "slowed stages", slowed.size(),
      [&](size_t i) { return slowed[i]->start_ns; },
      [&](size_t i) { return EndOf(slowed[i]->start_ns, slowed[i]->end_ns); }, emit);
  return dealt.ok() ? Status() : Status(dealt.error());
}

}  // namespace

Status WriteChrome(const model::Run& run, What what, TextSink& sink) {
  return ChromeWriter(run, sink).Write(what);
}

}  // namespace stallscope::exporting
