#include "analyzer/importers/chrome/kineto.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "analyzer/importers/chrome/json.h"
#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers::chrome {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep#";

using Row = std::pair<std::string_view, Kind>;

// 2021's names, then those since; other accelerators' as Kineto has them.
constexpr std::array<Row, 28> kKinds = {{
    {"Operator", Kind::kOperator},
    {"Runtime", Kind::kRuntime},
    {"Kernel", Kind::kKernel},
    {"Memcpy", Kind::kCopy},
    {"Memset", Kind::kMemset},
    {"Python", Kind::kOperator},
    {"cpu_op", Kind::kOperator},
    {"cuda_runtime", Kind::kRuntime},
    {"cuda_driver", Kind::kRuntime},
    {"hip_runtime", Kind::kRuntime},
    {"hip_driver", Kind::kRuntime},
    {"xpu_runtime", Kind::kRuntime},
    {"xpu_driver", Kind::kRuntime},
    {"mtia_runtime", Kind::kRuntime},
    {"privateuse1_runtime", Kind::kRuntime},
    {"privateuse1_driver", Kind::kRuntime},
    {"python_function", Kind::kFunction},
    {"user_annotation", Kind::kAnnotation},
    {"gpu_user_annotation", Kind::kDeviceNote},
    {"cuda_sync", Kind::kDeviceNote},
    {"kernel", Kind::kKernel},
    {"mtia_kernel", Kind::kKernel},
    {"mtia_ccp_events", Kind::kKernel},
    {"gpu_memcpy", Kind::kCopy},
    {"gpu_memset", Kind::kMemset},
    {"Trace", Kind::kProfiler},
    {"overhead", Kind::kProfiler},
    {"cpu_instant_event", Kind::kProfiler},
}};

bool IsLoader(std::string_view name) {
  return name.starts_with("enumerate(DataLoader)") || name.starts_with("enumerate(DataPipe)#");
}

// The batches come from other processes, which the file does not show.
bool IsFetchedElsewhere(std::string_view name) {
  return name.find("_MultiProcessingDataLoaderIter") != std::string_view::npos;
}

// torch.compile makes another graph of a function: the innermost of the events that say so, which
// all versions have ("_compile.<locals>.compile_inner" before 2.4).
bool IsCompilation(std::string_view name) { return name.ends_with("compile_inner (dynamo_timed)"); }

std::string TextOf(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    return Unescaped(CutName(value.substr(1, value.size() - 2)));
  }
  return std::string(CutName(value));
}

std::optional<uint32_t> NumberOf(simdjson::dom::element element) {
  uint64_t number = 0;
  if (element.get(number) != simdjson::SUCCESS) return std::nullopt;
  if (number > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(number);
}

// A longer list is not credible.
constexpr size_t kMostDevices = 4'096;

}  // namespace

Kind KindOf(std::string_view category) {
  for (const auto& [name, kind] : kKinds) {
    if (category == name) return kind;
  }
  return Kind::kOther;
}

trace::SpanActivity ActivityOf(Kind kind) {
  switch (kind) {
    case Kind::kOperator:
      return trace::SpanActivity::kOperator;
    case Kind::kRuntime:
      return trace::SpanActivity::kRuntime;
    case Kind::kFunction:
      return trace::SpanActivity::kFunction;
    case Kind::kAnnotation:
      return trace::SpanActivity::kAnnotation;
    case Kind::kMemset:
      return trace::SpanActivity::kMemset;
    default:
      return trace::SpanActivity::kNone;
  }
}

Special SpecialOf(std::string_view name, Kind kind) {
  if (kind != Kind::kOperator && kind != Kind::kAnnotation) return Special::kNone;
  if (name.starts_with(kStepPrefix)) return Special::kStep;
  if (IsLoader(name)) return Special::kLoader;
  return IsCompilation(name) ? Special::kCompile : Special::kNone;
}

bool IsStreamEvent(std::string_view kernel) {
  return kernel == "event_wait" || kernel == "event_record";
}

bool Kineto::WantsMember(std::string_view key) {
  return key == "deviceProperties" || key == "distributedInfo";
}

void Kineto::OnMember(std::string_view key, std::string_view value) {
  constexpr size_t kMostMemberBytes = size_t{1} << 20;  // a hundred devices take 100 KB
  if (WantsMember(key)) {
    if (value.size() > kMostMemberBytes) {
      builder_.LeaveOut(
          "{member|members} larger than 1 MiB next to the events {was|were} left out");
      return;
    }
    seen_ = true;
    if (key == "deviceProperties" ? !TakeDevices(value) : !TakeRanks(value)) {
      builder_.LeaveOut("{member|members} next to the events could not be read: left out");
    }
  } else if (key == "schemaVersion") {
    schema_version_ = TextOf(value);
    seen_ = true;
  } else if (key == "baseTimeNanoseconds") {
    seen_ = true;
    const std::optional<uint64_t> base = WholeNumber(TextOf(value));
    if (base && *base <= static_cast<uint64_t>(trace::kMaxTimeNs)) {
      base_time_ns_ = static_cast<int64_t>(*base);
    }
  } else if (key == "traceName") {
    builder_.info().name = TextOf(value);
  } else if (key == "cuda_driver_version" || key == "hip_driver_version") {
    driver_ = TextOf(value);
  }
}

bool Kineto::TakeDevices(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  const simdjson::padded_string text(json);
  if (parser.parse(text).get(list) != simdjson::SUCCESS) return false;
  for (const simdjson::dom::element device : list) {
    simdjson::dom::element id;
    if (device["id"].get(id) != simdjson::SUCCESS) continue;
    const std::optional<uint32_t> number = NumberOf(id);
    if (!number) continue;
    if (devices_.size() >= kMostDevices && devices_.count(*number) == 0) return false;
    DeviceProperties& properties = devices_[*number];
    std::string_view name;
    if (device["name"].get(name) == simdjson::SUCCESS) properties.name = CutName(name);
    uint64_t bytes = 0;
    if (device["totalGlobalMem"].get(bytes) == simdjson::SUCCESS) properties.memory_bytes = bytes;
  }
  return true;
}

bool Kineto::TakeRanks(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element ranks;
  const simdjson::padded_string text(json);
  if (parser.parse(text).get(ranks) != simdjson::SUCCESS) return false;
  simdjson::dom::element number;
  if (ranks["rank"].get(number) == simdjson::SUCCESS)
    builder_.info().rank = NumberOf(number).value_or(0);
  if (ranks["world_size"].get(number) == simdjson::SUCCESS) {
    builder_.info().world_size = NumberOf(number).value_or(0);
  }
  return true;
}

void Kineto::OnSpecial(const Event& event, Special special, uint32_t lane, int64_t start_ns,
                       int64_t end_ns) {
  if (special == Special::kCompile) {
    builder_.allowance().Charge(sizeof(Occurrence));
    compilations_.push_back({start_ns, std::max<int64_t>(0, end_ns - start_ns)});
    return;
  }
  const TrackId track = lanes_.Accounted(lane);
  if (special == Special::kStep) {
    builder_.allowance().Charge(sizeof(StepMark));
    const std::string_view text = event.name.substr(kStepPrefix.size());
    uint64_t index = 0;
    std::from_chars(text.data(), text.data() + text.size(), index);
    marks_.push_back({index, start_ns, end_ns, track, 0});
    return;
  }
  const bool elsewhere = IsFetchedElsewhere(event.name);
  loader_in_processes_ = loader_in_processes_ || elsewhere;
  const StageId stage = builder_.Stage("DataLoader", "dataloader", elsewhere ? 0 : 1);
  builder_.AddBatchWait(track, stage, start_ns, end_ns, !elsewhere);
}

std::vector<StepMark> Kineto::Finish() {
  builder_.AddTotals("compilations", std::move(compilations_));
  return std::move(marks_);
}

void Kineto::AddLimits() {
  if (!loader_in_processes_) return;
  builder_.Limit(
      "DataLoader: its workers are other processes, which this file shows only from the outside; "
      "to see inside, record them too: run the profiler in the workers (worker_init_fn), or the "
      "same loop with num_workers=0");
}

void Kineto::Describe(const DeviceRows& device) {
  trace::RunInfo& info = builder_.info();
  if (seen_) {
    info.tool = "PyTorch profiler (Kineto)";
    builder_.SetFormat("kineto", schema_version_);
  }
  // Older files of Kineto count from the epoch themselves.
  if (base_time_ns_ || seen_) builder_.SetRealtimeAhead(base_time_ns_.value_or(0));
  if (!device.any()) {
    info.device.kind = "host";
    return;
  }
  info.device.kind = "gpu";
  info.device.driver = driver_;
  for (const uint32_t id : device.devices()) {
    const auto found = devices_.find(id);
    if (found == devices_.end()) continue;
    info.device.name = found->second.name;
    info.device.memory_bytes = found->second.memory_bytes;
    break;
  }
}

}  // namespace stallscope::importers::chrome
