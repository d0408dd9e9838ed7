#include "analyzer/importers/chrome/tensorflow_lanes.h"

#include <array>

namespace stallscope::importers::chrome {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The number behind "gpu:", "GPU:" or "TPU:"; nothing where no device is named.
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

}  // namespace

bool IsNumberedStream(std::string_view process) {
  const size_t at = process.find("/stream:");
  if (at == std::string_view::npos) return false;
  const size_t digit = at + std::string_view("/stream:").size();
  return digit < process.size() && process[digit] >= '0' && process[digit] <= '9';
}

LaneMeaning MeaningOf(std::string_view process, std::string_view thread, bool numbered) {
  LaneMeaning meaning;
  if (process.starts_with("/host:")) {
    meaning.role = LaneRole::kHost;
    return meaning;
  }
  const std::optional<uint32_t> device = DeviceIn(process);
  meaning.device = device.value_or(0);
  // TF1: "/gpu:0/stream:12 Compute" and its copies "/gpu:0/stream:all Compute" and "/gpu:0/memcpy";
  // "/job:localhost/replica:0/task:0/gpu:0 Compute" is the host's side of it.
  if (Has(process, "/stream:") || Has(process, "/memcpy")) {
    meaning.role = numbered && !IsNumberedStream(process) ? LaneRole::kDerived : LaneRole::kStream;
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

}  // namespace stallscope::importers::chrome
