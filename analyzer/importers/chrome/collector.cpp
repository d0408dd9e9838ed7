#include "analyzer/importers/chrome/collector.h"

#include <algorithm>
#include <charconv>

#include "analyzer/importers/chrome/decimal.h"
#include "analyzer/importers/chrome/json_text.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers::chrome {
namespace {

// The format's other phases: instants, flows, steps of asynchronous events, samples, objects,
// memory dumps, marks, clocks, contexts and links.
constexpr std::string_view kOtherPhases = "iIsftTnpPNODvVRc(),=";
constexpr std::string_view kStepPrefix = "ProfilerStep#";

bool IsLoader(std::string_view name) {
  return name.starts_with("enumerate(DataLoader)") || name.starts_with("enumerate(DataPipe)#");
}

// The batches come from other processes, which the file does not show.
bool IsFetchedElsewhere(std::string_view name) {
  return name.find("_MultiProcessingDataLoaderIter") != std::string_view::npos;
}

// torch.compile makes a graph of a function anew: the innermost of the events that say so, which
// all versions have ("_compile.<locals>.compile_inner" before 2.4).
bool IsCompilation(std::string_view name) {
  constexpr std::string_view kEnd = "compile_inner (dynamo_timed)";
  return name.size() >= kEnd.size() && name.substr(name.size() - kEnd.size()) == kEnd;
}

// What MTIA's streams wait for and tell among their work: nothing runs meanwhile.
bool IsStreamEvent(std::string_view kernel) {
  return kernel == "event_wait" || kernel == "event_record";
}

uint64_t NumberAtEnd(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Collector::Collector(ByteSource& source)
    : builder_(source.path(), "chrome", "", &source.allowance()),
      lanes_(builder_),
      device_(builder_),
      async_(builder_, lanes_),
      tensorflow_(builder_),
      kinds_(source.allowance()),
      names_(source.allowance()),
      counters_(source.allowance()) {}

void Collector::OnMember(std::string_view key, std::string_view value) {
  switch (head_.Take(key, value)) {
    case Head::Taken::kYes:
      break;
    case Head::Taken::kTooLong:
      builder_.LeaveOut("members of more than 1 MiB beside the events were left out");
      break;
    case Head::Taken::kMalformed:
      builder_.LeaveOut("members beside the events could not be read: left out");
      break;
  }
}

void Collector::OnDamage(uint64_t offset, uint64_t bytes, const std::string& reason, bool cut) {
  if (reason.empty()) {
    builder_.GrowDamage(bytes);
  } else {
    builder_.Damaged(offset, bytes, reason, cut);
  }
}

void Collector::OnEvent(const Event& event) {
  ++events_;
  if (event.phase.size() != 1) {
    // TensorFlow closes its lists with an empty object.
    if (event.phase.empty() && event.name.empty() && event.time.empty()) return;
    builder_.LeaveOut("events do not say what kind they are: left out");
    return;
  }
  const char phase = event.phase[0];
  switch (phase) {
    case 'X':
      return OnComplete(event);
    case 'B':
      return OnBegin(event);
    case 'E':
      return OnEnd(event);
    case 'M':
      return OnMetadata(event);
    case 'C':
      return OnCounter(event);
    case 'b':
    case 'S': {
      const std::optional<int64_t> time = TimeOf(event.time);
      if (time) async_.Begin(event, NamedOf(event.name, Kind::kOther).span_class, *time);
      return;
    }
    case 'e':
    case 'F': {
      const std::optional<int64_t> time = TimeOf(event.time);
      if (time) async_.End(event, *time);
      return;
    }
    default:
      if (kOtherPhases.find(phase) == std::string_view::npos) {
        builder_.LeaveOut("events do not say what kind they are: left out");
      }
  }
}

std::optional<int64_t> Collector::TimeOf(std::string_view text) {
  const std::optional<int64_t> time = NanosecondsOf(text);
  if (!time) {
    builder_.LeaveOut(text.empty() ? "events have no time: left out"
                                   : "events have a time that is none: left out");
  }
  return time;
}

Kind Collector::KindOfEvent(const Event& event) {
  uint32_t& kind = kinds_.At(CutName(event.category), 0);
  if (kind == TextTable::kNew) kind = static_cast<uint32_t>(KindOf(event.category));
  return static_cast<Kind>(kind);
}

Collector::Named Collector::NamedOf(std::string_view name, Kind kind) {
  uint32_t& place = names_.At(CutName(name), static_cast<uint8_t>(kind));
  if (place == TextTable::kNew) {
    place = static_cast<uint32_t>(named_.size());
    Named& named = named_.emplace_back();
    trace::SpanActivity activity = ActivityOf(kind);
    if (kind == Kind::kOperator || kind == Kind::kAnnotation) {
      if (name.starts_with(kStepPrefix)) {
        named.special = Special::kStep;
        activity = trace::SpanActivity::kAnnotation;
      } else if (IsLoader(name)) {
        named.special = Special::kLoader;
        activity = trace::SpanActivity::kLoader;
      } else if (IsCompilation(name)) {
        named.special = Special::kCompile;
      }
    }
    named.span_class = builder_.Detail(activity, builder_.Intern(Unescaped(name)));
  }
  return named_[place];
}

LaneMeaning Collector::MeaningOfLane(uint32_t lane) {
  if (lane >= meanings_.size()) meanings_.resize(lane + 1);
  std::optional<LaneMeaning>& meaning = meanings_[lane];
  if (!meaning) {
    const Process& process = lanes_.process(lanes_[lane].process);
    meaning = MeaningOf(process.name, lanes_[lane].name, numbered_streams_);
    if (meaning->role != LaneRole::kNone) saw_tensorflow_ = true;
  }
  return *meaning;
}

void Collector::OnComplete(const Event& event) {
  const std::optional<int64_t> start = TimeOf(event.time);
  if (!start) return;
  int64_t end = *start;
  if (!event.duration.empty()) {
    const std::optional<int64_t> duration = TimeOf(event.duration);
    if (!duration) return;
    end = *start + *duration;
  }
  Kind kind = KindOfEvent(event);
  if (kind == Kind::kKernel && IsStreamEvent(event.name)) kind = Kind::kDeviceNote;
  if (kind != Kind::kOther) saw_pytorch_ = true;
  if (kind == Kind::kKernel || kind == Kind::kCopy || kind == Kind::kMemset) {
    return device_.Add(event, kind, *start, end);
  }
  // The profiler's own bracket around everything.
  if (kind == Kind::kProfiler && event.category == "Trace") return;
  const uint32_t lane = lanes_.Of(event.process, event.thread);
  if (kind == Kind::kOther) {
    const LaneMeaning meaning = MeaningOfLane(lane);
    if (meaning.role != LaneRole::kNone) return OnTensorFlow(event, lane, meaning, *start, end);
  }
  const Named named = NamedOf(event.name, kind);
  if (named.special != Special::kNone) OnSpecial(event, named.special, lane, *start, end);
  builder_.AddSpan(lanes_.Detail(lane), named.span_class, *start, end);
  if (kind == Kind::kRuntime) device_.AddCall(event, *start);
}

void Collector::OnSpecial(const Event& event, Special special, uint32_t lane, int64_t start_ns,
                          int64_t end_ns) {
  if (special == Special::kCompile) {
    builder_.allowance().Charge(sizeof(Occurrence));
    compilations_.push_back({start_ns, std::max<int64_t>(0, end_ns - start_ns)});
    return;
  }
  const TrackId track = lanes_.Accounted(lane);
  if (special == Special::kStep) {
    builder_.allowance().Charge(sizeof(StepMark));
    const uint64_t index = NumberAtEnd(event.name.substr(kStepPrefix.size()));
    marks_.push_back({index, start_ns, end_ns, track, 0});
    return;
  }
  saw_loader_ = true;
  const bool elsewhere = IsFetchedElsewhere(event.name);
  loader_in_processes_ = loader_in_processes_ || elsewhere;
  const StageId stage = builder_.Stage("DataLoader", "dataloader", elsewhere ? 0 : 1);
  builder_.AddBatchWait(track, stage, start_ns, end_ns, !elsewhere);
}

void Collector::OnTensorFlow(const Event& event, uint32_t lane, LaneMeaning meaning,
                             int64_t start_ns, int64_t end_ns) {
  if (meaning.role == LaneRole::kStepNumbers) {
    builder_.allowance().Charge(sizeof(StepMark));
    derived_marks_.push_back({NumberAtEnd(event.name), start_ns, end_ns, TrackId::None(), 0});
  }
  if (meaning.role != LaneRole::kStream) {
    // What repeats the streams is left out: shown twice it would look like work done twice.
    if (meaning.role == LaneRole::kDerived) {
      builder_.Limit(
          "lines that repeat what the streams show (XLA Modules, TensorFlow Ops, stream:all, "
          "memcpy) are left out");
      return;
    }
    if (meaning.role == LaneRole::kHost) tensorflow_.Add(event, lane, start_ns, end_ns);
    builder_.AddSpan(lanes_.Detail(lane), NamedOf(event.name, Kind::kOther).span_class, start_ns,
                     end_ns);
    return;
  }
  const Process& process = lanes_.process(lanes_[lane].process);
  const size_t stream = process.name.find("/stream:");
  // TF1 deals out one stream's overlapping rows to several threads.
  const std::string name = stream == std::string::npos
                               ? lanes_[lane].name
                               : process.name.substr(stream + 1) + "." + lanes_[lane].thread;
  device_.AddNamed(event, meaning.device, name, start_ns, end_ns);
}

void Collector::OnBegin(const Event& event) {
  const std::optional<int64_t> time = TimeOf(event.time);
  if (!time) return;
  constexpr size_t kMostOpen = 100'000;
  Lane& lane = lanes_[lanes_.Of(event.process, event.thread)];
  lane.last_ns = std::max(lane.last_ns, *time);
  if (lane.open.size() >= kMostOpen) {
    builder_.LeaveOut("events begin inside 100,000 others: left out");
    return;
  }
  lane.open.push_back({std::string(CutName(event.name)),
                       NamedOf(event.name, KindOfEvent(event)).span_class, *time});
  builder_.allowance().ChargeText(lane.open.back().name.size());
}

void Collector::OnEnd(const Event& event) {
  const std::optional<int64_t> time = TimeOf(event.time);
  if (!time) return;
  const uint32_t number = lanes_.Of(event.process, event.thread);
  const TrackId track = lanes_.Detail(number);
  Lane& lane = lanes_[number];
  lane.last_ns = std::max(lane.last_ns, *time);
  if (lane.open.empty()) {
    builder_.Count("events end without having begun: left out");
    return;
  }
  // An end without a name is the innermost's.
  size_t at = lane.open.size() - 1;
  const std::string_view name = CutName(event.name);
  if (!name.empty() && lane.open[at].name != name) {
    size_t same = lane.open.size();
    constexpr size_t kLookBack = 64;
    for (size_t i = same; i-- > 0 && same - i <= kLookBack;) {
      if (lane.open[i].name != name) continue;
      at = i;
      break;
    }
    builder_.Count("events end under another's name: those inside are taken to end there, too");
  }
  while (lane.open.size() > at) {
    const OpenSpan& open = lane.open.back();
    builder_.AddSpan(track, open.span_class, open.start_ns, *time);
    builder_.allowance().GiveBack(Allowance::kEntryBytes + open.name.size());
    lane.open.pop_back();
  }
}

void Collector::CloseOpenSpans() {
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    while (!lanes_[i].open.empty()) {
      const OpenSpan open = lanes_[i].open.back();
      lanes_[i].open.pop_back();
      builder_.AddSpan(lanes_.Detail(i), open.span_class, open.start_ns, lanes_[i].last_ns);
      builder_.Count("events never end: taken to last as long as their thread");
    }
  }
  async_.Close();
}

void Collector::OnCounter(const Event& event) {
  const std::optional<int64_t> time = TimeOf(event.time);
  if (!time) return;
  const std::string_view base = CutName(event.name);
  ForEachArgument(event, [&](std::string_view key, size_t place) {
    const std::string_view text = event.text->ScalarAt(place).text;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      builder_.LeaveOut("values of counters are no numbers: left out");
      return;
    }
    std::string name(base);
    if (key != "value" && key != event.name) name.append(".").append(CutName(key));
    uint32_t& counter = counters_.At(name, 0);
    if (counter == TextTable::kNew) counter = builder_.Counter(Unescaped(name)).value;
    builder_.Add(trace::Sample{*time, value, CounterId{counter}});
  });
}

void Collector::OnMetadata(const Event& event) {
  std::string value;
  ForEachArgument(event, [&](std::string_view key, size_t place) {
    if (key == "name" || key == "labels")
      value = Unescaped(CutName(event.text->ScalarAt(place).text));
  });
  if (value.empty()) return;
  if (event.name == "process_name") {
    lanes_.process(lanes_.ProcessOf(event.process)).name = value;
    numbered_streams_ = numbered_streams_ || IsNumberedStream(value);
  } else if (event.name == "process_labels") {
    lanes_.process(lanes_.ProcessOf(event.process)).labels = value;
  } else if (event.name == "thread_name") {
    lanes_[lanes_.Of(event.process, event.thread)].name = value;
  }
}

void Collector::DescribeDevice() {
  trace::DeviceInfo& device = builder_.info().device;
  if (!device_.any()) {
    device.kind = "host";
    return;
  }
  device.kind = "gpu";
  device.driver = head_.driver;
  for (const uint32_t id : device_.devices()) {
    const auto found = head_.devices.find(id);
    if (found == head_.devices.end()) continue;
    device.name = found->second.name;
    device.memory_bytes = found->second.memory_bytes;
    break;
  }
}

void Collector::DescribeRun() {
  trace::RunInfo& info = builder_.info();
  info.name = head_.trace_name;
  info.rank = head_.rank.value_or(0);
  info.world_size = head_.world_size;
  const bool pytorch = head_.from_pytorch || saw_pytorch_;
  if (pytorch) {
    info.tool = "PyTorch profiler (Kineto)";
    builder_.SetFormat("kineto", head_.schema_version);
  } else if (saw_tensorflow_) {
    info.tool = "TensorFlow profiler";
    builder_.SetFormat("tensorflow", numbered_streams_ ? "timeline" : "trace.json");
  } else {
    builder_.SetFormat("chrome", "trace events");
  }
  // Older files of Kineto count from the epoch themselves.
  if (head_.base_time_ns) {
    builder_.SetRealtimeAhead(*head_.base_time_ns);
  } else if (pytorch) {
    builder_.SetRealtimeAhead(0);
  }
  DescribeDevice();
}

void Collector::SayLimits() {
  if (!builder_.run().rows.kernels.empty() || !builder_.run().rows.copies.empty()) {
    builder_.Limit("stages: the CPU time of threads is not in this format");
  }
  if (loader_in_processes_) {
    builder_.Limit(
        "DataLoader: its workers are other processes, which this file shows from outside only; "
        "to see inside, record them too: run the profiler in the workers (worker_init_fn), or the "
        "same loop with num_workers=0");
  }
  if (tensorflow_.pipeline().any) {
    builder_.Limit(
        "stages.cpu_s: this format does not tell when a thread had a core, so what a stage's work "
        "waited for is not known");
  }
  if (tensorflow_.pipeline().samples_per_batch == 0) {
    builder_.Limit("throughput: this format does not say how many samples a step has");
  }
}

model::Run Collector::Finish() {
  CloseOpenSpans();
  device_.JoinLaunches();
  lanes_.NameTracks();
  DescribeRun();
  if (saw_tensorflow_) derived_marks_ = tensorflow_.Finish(lanes_, std::move(derived_marks_));
  if (marks_.empty()) marks_ = std::move(derived_marks_);
  AddTotals("compilations", std::move(compilations_), builder_);
  SayLimits();
  return builder_.Finish(marks_);
}

}  // namespace stallscope::importers::chrome
