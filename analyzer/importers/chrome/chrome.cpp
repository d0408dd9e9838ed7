#include "analyzer/importers/chrome/chrome.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/importers/chrome/device.h"
#include "analyzer/importers/chrome/document.h"
#include "analyzer/importers/chrome/json.h"
#include "analyzer/importers/chrome/kineto.h"
#include "analyzer/importers/chrome/lanes.h"
#include "analyzer/importers/chrome/tensorflow.h"
#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::chrome {
namespace {

// The format's other phases: instants, flows, steps of asynchronous events, samples, objects,
// memory dumps, marks, clocks, contexts and links.
constexpr std::string_view kOtherPhases = "iIsftTpnPNODvVRc(),=";

// Makes a run of a document's events.
class Collector final : public DocumentVisitor {
 public:
  // `source`, to whose allowance everything is charged, must outlive it.
  explicit Collector(ByteSource& source)
      : builder_(source.path(), "chrome", "", &source.allowance()),
        lanes_(builder_),
        device_(builder_),
        async_(builder_, lanes_),
        kineto_(builder_, lanes_),
        tensorflow_(builder_, lanes_, device_),
        kinds_(source.allowance()),
        names_(source.allowance()),
        counters_(source.allowance()) {}

  void OnEvent(const Event& event) override;
  bool Wants(std::string_view key) const override { return Kineto::WantsMember(key); }
  void OnMember(std::string_view key, std::string_view value) override {
    kineto_.OnMember(key, value);
  }
  void OnDamage(uint64_t offset, uint64_t bytes, const std::string& reason, bool cut) override;

  uint64_t events() const { return events_; }
  // The run. The collector is spent.
  model::Run Finish();

 private:
  // What is known of all events of one name and kind.
  struct Named {
    uint16_t span_class = 0;
    Special special = Special::kNone;
  };

  void OnComplete(const Event& event);
  void OnBoundary(const Event& event, char phase);
  void OnCounter(const Event& event);
  void OnMetadata(const Event& event);

  Kind KindOfEvent(const Event& event);
  Named NamedOf(std::string_view name, Kind kind);
  std::optional<int64_t> TimeOf(std::string_view text);
  void AddLimits();

  RunBuilder builder_;
  Lanes lanes_;
  DeviceRows device_;
  AsyncSpans async_;
  Kineto kineto_;
  TensorFlow tensorflow_;
  TextTable kinds_;
  TextTable names_;
  std::vector<Named> named_;  // by the value in names_
  TextTable counters_;
  uint64_t events_ = 0;
};

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
    builder_.LeaveOut("{event has|events have} no valid phase: left out");
    return;
  }
  const char phase = event.phase[0];
  switch (phase) {
    case 'X':
      return OnComplete(event);
    case 'B':
    case 'E':
    case 'b':
    case 'S':
    case 'e':
    case 'F':
      return OnBoundary(event, phase);
    case 'M':
      return OnMetadata(event);
    case 'C':
      return OnCounter(event);
    default:
      if (kOtherPhases.find(phase) == std::string_view::npos) {
        builder_.LeaveOut("{event has|events have} no valid phase: left out");
      }
  }
}

std::optional<int64_t> Collector::TimeOf(std::string_view text) {
  const std::optional<int64_t> time = NanosecondsOf(text);
  if (!time) {
    builder_.LeaveOut(text.empty() ? "{event has|events have} no timestamp: left out"
                                   : "{event has|events have} an invalid timestamp: left out");
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
    named.special = SpecialOf(name, kind);
    trace::SpanActivity activity = ActivityOf(kind);
    if (named.special == Special::kStep) activity = trace::SpanActivity::kAnnotation;
    if (named.special == Special::kLoader) activity = trace::SpanActivity::kLoader;
    named.span_class = builder_.Detail(activity, builder_.Intern(Unescaped(name)));
  }
  return named_[place];
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
  if (kind != Kind::kOther) kineto_.SawEvent();
  if (kind == Kind::kKernel) return device_.Add(event, DeviceKind::kKernel, *start, end);
  if (kind == Kind::kCopy) return device_.Add(event, DeviceKind::kCopy, *start, end);
  if (kind == Kind::kMemset) return device_.Add(event, DeviceKind::kMemset, *start, end);
  // The profiler's own bracket around everything.
  if (kind == Kind::kProfiler && event.category == "Trace") return;
  const uint32_t lane = lanes_.Of(event.process, event.thread);
  if (kind == Kind::kOther && tensorflow_.Take(event, lane, *start, end)) return;
  if (kind == Kind::kDeviceNote) lanes_[lane].shows = "annotations";
  if (kind == Kind::kProfiler && lanes_[lane].name.empty()) lanes_[lane].name = "profiler";
  const Named named = NamedOf(event.name, kind);
  if (named.special != Special::kNone) {
    kineto_.OnSpecial(event, named.special, lane, *start, end);
  }
  builder_.AddSpan(lanes_.Detail(lane), named.span_class, *start, end);
  if (kind == Kind::kRuntime) device_.AddCall(event, *start);
}

// A span's begin or end.
void Collector::OnBoundary(const Event& event, char phase) {
  const std::optional<int64_t> time = TimeOf(event.time);
  if (!time) return;
  if (phase == 'B') {
    lanes_.Begin(lanes_.Of(event.process, event.thread), event.name,
                 NamedOf(event.name, KindOfEvent(event)).span_class, *time);
  } else if (phase == 'E') {
    lanes_.End(lanes_.Of(event.process, event.thread), event.name, *time);
  } else if (phase == 'b' || phase == 'S') {
    async_.Begin(event, NamedOf(event.name, Kind::kOther).span_class, *time);
  } else {
    async_.End(event, *time);
  }
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
      builder_.LeaveOut("{counter value is not a number|counter values are not numbers}: left out");
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
    if (key == "name") value = Unescaped(CutName(event.text->ScalarAt(place).text));
  });
  if (value.empty()) return;
  if (event.name == "process_name") {
    lanes_.process(lanes_.ProcessOf(event.process)).name = value;
    tensorflow_.OnProcessName(value);
  } else if (event.name == "thread_name") {
    lanes_[lanes_.Of(event.process, event.thread)].name = value;
  }
}

void Collector::AddLimits() {
  if (!builder_.run().rows.kernels.empty() || !builder_.run().rows.copies.empty()) {
    builder_.Limit("stages: this format does not record the CPU time of threads");
  }
  kineto_.AddLimits();
  if (tensorflow_.host().has_pipeline()) {
    builder_.Limit(
        "stages.cpu_s: this format does not say when a thread was on a core, so what a stage's "
        "work waited for is unknown");
  }
  if (tensorflow_.host().samples_per_batch() == 0) {
    builder_.Limit("throughput: this format does not record the number of samples per step");
  }
}

model::Run Collector::Finish() {
  lanes_.Close();
  async_.Close();
  device_.JoinLaunches();
  lanes_.NameTracks();
  builder_.SetFormat("chrome", "trace events");
  if (tensorflow_.seen()) tensorflow_.Describe();
  kineto_.Describe(device_);
  std::vector<StepMark> derived = tensorflow_.Finish();
  std::vector<StepMark> marks = kineto_.Finish();
  if (marks.empty()) marks = std::move(derived);
  AddLimits();
  return builder_.Finish(marks);
}

std::string_view WithoutSpace(std::string_view text) {
  while (!text.empty() && IndexedText::IsSpace(text.front())) text.remove_prefix(1);
  return text;
}

// Keys that are in every event, or in the heads that some profilers write.
constexpr std::array<std::string_view, 6> kKeys = {"\"ph\"",
                                                   "\"traceEvents\"",
                                                   "\"schemaVersion\"",
                                                   "\"deviceProperties\"",
                                                   "\"displayTimeUnit\"",
                                                   "\"distributedInfo\""};

}  // namespace

bool LooksLikeTraceEvents(std::string_view head) {
  if (head.substr(0, 3) == "\xef\xbb\xbf") head.remove_prefix(3);
  const std::string_view text = WithoutSpace(head);
  if (text.empty() || (text[0] != '{' && text[0] != '[')) return false;
  for (const std::string_view key : kKeys) {
    if (text.find(key) != std::string_view::npos) return true;
  }
  // The head may be longer than the part seen here; a file that ends without such a key has no
  // events.
  return text[0] == '{' && head.size() >= ByteSource::kHeadBytes;
}

Result<model::Run> ReadTraceEvents(ByteSource& source) {
  Collector collector(source);
  Document document(source);
  STALLSCOPE_RETURN_IF_ERROR(document.Read(collector));
  if (collector.events() == 0) {
    const char* what = document.has_events() ? "the list of events in this JSON is empty"
                                             : "this JSON contains no trace events";
    return Error{ErrorKind::kInput, what, source.path(),
                 "use a profiler's output: a list of events, or an object with "
                 "\"traceEvents\""};
  }
  model::Run run = collector.Finish();
  TellDamage(source, run.quality);
  return run;
}

}  // namespace stallscope::importers::chrome
