#include "analyzer/importers/chrome/tensorflow.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "analyzer/importers/chrome/json.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers::chrome {
namespace {

uint64_t NumberIn(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The number after "gpu:", "GPU:" or "TPU:"; nothing if no device is named.
std::optional<uint32_t> DeviceIn(std::string_view process) {
  constexpr std::array<std::string_view, 4> kWords = {"GPU:", "gpu:", "TPU:", "tpu:"};
  for (const std::string_view word : kWords) {
    const size_t at = process.find(word);
    if (at == std::string_view::npos) continue;
    uint32_t number = 0;
    for (size_t i = at + word.size(); i < process.size() && number < 100'000; ++i) {
      const char c = process[i];
      if (c < '0' || c > '9') break;
      number = number * 10 + static_cast<uint32_t>(c - '0');
    }
    return number;
  }
  return std::nullopt;
}

// "/gpu:0/stream:12 Compute", a stream by its number.
bool IsNumberedStream(std::string_view process) {
  const size_t at = process.find("/stream:");
  if (at == std::string_view::npos) return false;
  const size_t digit = at + std::string_view("/stream:").size();
  return digit < process.size() && process[digit] >= '0' && process[digit] <= '9';
}

void TakeArgument(std::string_view key, std::string_view value, HostArguments& said) {
  if (key == "id") {
    said.id = NumberIn(value);
  } else if (key == "parent_id") {
    said.parent = NumberIn(value);
  } else if (key == "_p") {
    said.produced = NumberIn(value);
  } else if (key == "_c") {
    said.consumed = NumberIn(value);
  } else if (key == "step_num") {
    said.step = NumberIn(value);
  } else if (key == "tf_function_call") {
    said.call = value;
  } else if (key == "eager_op") {
    said.eager = true;
  } else if (key == "is_func") {
    said.function = value != "0" && value != "false";
  } else if (key == "parallelism") {
    said.parallelism = NumberIn(value);
  } else if (key == "buffer_limit" || key == "buffer_size") {
    said.buffer = NumberIn(value);
  } else if (key == "batch_size") {
    said.batch = NumberIn(value);
  } else if (key == "shapes") {
    said.shapes = value;
  } else if (key == "types") {
    said.types = value;
  } else if (key == "drop_remainder") {
    said.drop_remainder = value == "true";
  } else if (key == "cycle_length") {
    said.cycle_length = NumberIn(value);
  } else if (key == "block_length") {
    said.block_length = NumberIn(value);
  } else if (key == "num_shards") {
    said.num_shards = NumberIn(value);
  } else if (key == "deterministic") {
    said.deterministic = value != "false";
  } else if (key == "autotune") {
    said.tuned = value == "true";
  }
}

HostArguments ArgumentsOf(const Event& event) {
  HostArguments said;
  ForEachArgument(event, [&](std::string_view key, size_t place) {
    TakeArgument(key, event.text->ScalarAt(place).text, said);
  });
  return said;
}

}  // namespace

void TensorFlow::OnProcessName(std::string_view name) {
  numbered_streams_ = numbered_streams_ || IsNumberedStream(name);
}

TensorFlow::LaneMeaning TensorFlow::Interpret(std::string_view process,
                                              std::string_view thread) const {
  LaneMeaning meaning;
  if (process.starts_with("/host:")) {
    meaning.role = LaneRole::kHost;
    return meaning;
  }
  const std::optional<uint32_t> device = DeviceIn(process);
  meaning.device = device.value_or(0);
  // TF1: "/gpu:0/stream:12 Compute" and its copies "/gpu:0/stream:all Compute" and "/gpu:0/memcpy";
  // "/job:localhost/replica:0/task:0/gpu:0 Compute" is the host's side of it.
  if ((process.find("/stream:") != std::string_view::npos) ||
      (process.find("/memcpy") != std::string_view::npos)) {
    meaning.role =
        numbered_streams_ && !IsNumberedStream(process) ? LaneRole::kDerived : LaneRole::kStream;
    return meaning;
  }
  if (process.starts_with("/job:")) {
    meaning.role = LaneRole::kHost;
    return meaning;
  }
  if (!device || !process.starts_with("/device:")) return meaning;
  if (thread.starts_with("Stream #") || thread == "XLA Ops") {
    meaning.role = LaneRole::kStream;
  } else {
    meaning.role = thread == "Steps" ? LaneRole::kStepNumbers : LaneRole::kDerived;
  }
  return meaning;
}

TensorFlow::LaneMeaning TensorFlow::MeaningOf(uint32_t lane) {
  if (lane >= meanings_.size()) meanings_.resize(lane + 1);
  std::optional<LaneMeaning>& meaning = meanings_[lane];
  if (!meaning) {
    meaning = Interpret(lanes_.process(lanes_[lane].process).name, lanes_[lane].name);
    if (meaning->role != LaneRole::kNone) seen_ = true;
  }
  return *meaning;
}

bool TensorFlow::Take(const Event& event, uint32_t lane, int64_t start_ns, int64_t end_ns) {
  const LaneMeaning meaning = MeaningOf(lane);
  switch (meaning.role) {
    case LaneRole::kNone:
      return false;
    case LaneRole::kHost:
      TakeHost(event, lane, start_ns, end_ns);
      return false;
    case LaneRole::kStepNumbers:
      builder_.allowance().Charge(sizeof(StepMark));
      derived_marks_.push_back({NumberIn(event.name), start_ns, end_ns, TrackId::None(), 0});
      return false;
    case LaneRole::kDerived:
      // Shown twice, it would look like work done twice.
      builder_.Limit(
          "lines that repeat what the streams show (XLA Modules, TensorFlow Ops, stream:all, "
          "memcpy) are left out");
      return true;
    case LaneRole::kStream:
      break;
  }
  const Process& process = lanes_.process(lanes_[lane].process);
  const size_t stream = process.name.find("/stream:");
  // TF1 spreads one stream's overlapping rows over several threads.
  const std::string name = stream == std::string::npos
                               ? lanes_[lane].name
                               : process.name.substr(stream + 1) + "." + lanes_[lane].thread;
  device_.AddNamed(event, meaning.device, name, start_ns, end_ns);
  return true;
}

TensorFlow::Name& TensorFlow::NameOf(std::string_view text) {
  uint32_t& place = known_.At(CutName(text), 0);
  if (place == TextTable::kNew) {
    place = static_cast<uint32_t>(names_.size());
    names_.push_back({RoleOfEvent(text), std::nullopt});
  }
  return names_[place];
}

HostThread& TensorFlow::ThreadOf(uint32_t lane) {
  if (lane >= threads_.size()) threads_.resize(lane + 1);
  std::vector<HostThread>& threads = host_.events().threads;
  if (threads_[lane] == 0) {
    threads.emplace_back();
    lane_of_.push_back(lane);
    threads_[lane] = threads.size();
  }
  return threads[threads_[lane] - 1];
}

void TensorFlow::TakeHost(const Event& event, uint32_t lane, int64_t start_ns, int64_t end_ns) {
  Name& name = NameOf(event.name);
  const HostArguments said = ArgumentsOf(event);
  // A valid start plus a valid duration may be past the valid times.
  end_ns = std::max(start_ns, trace::ClampTime(end_ns));
  HostThread& thread = ThreadOf(lane);
  const HostRole role = host_.Note(thread, name.role, said, start_ns, end_ns);
  if (role == HostRole::kNone) return;
  if (!name.kept) name.kept = host_.NameOf(name.role, Unescaped(CutName(event.name)));
  host_.Keep(thread, role, *name.kept, said, start_ns, end_ns);
}

std::vector<StepMark> TensorFlow::Finish() {
  if (!seen_) return {};
  std::vector<HostThread>& threads = host_.events().threads;
  for (size_t i = 0; i < threads.size(); ++i) {
    const Lane& lane = lanes_[lane_of_[i]];
    threads[i].name = lane.name.empty() ? "thread " + lane.thread : lane.name;
    threads[i].number = NumberIn(lane.thread);
  }
  return host_.Finish(std::move(derived_marks_));
}

void TensorFlow::Describe() {
  builder_.info().tool = "TensorFlow profiler";
  builder_.SetFormat("tensorflow", numbered_streams_ ? "timeline" : "trace.json");
}

}  // namespace stallscope::importers::chrome
