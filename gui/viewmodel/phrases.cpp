#include "gui/viewmodel/phrases.h"

#include <algorithm>
#include <array>
#include <variant>

#include "analyzer/timeline/counter_kind.h"
#include "analyzer/words/words.h"

namespace stallscope::viewmodel {
namespace {

std::string PlaceText(const Place& place) {
  switch (place.kind) {
    case Place::Kind::kStart:
      return "at the start";
    case Place::Kind::kAfter:
      return "after " + place.stage;
    case Place::Kind::kBefore:
      return "before " + place.stage;
  }
  return {};
}

std::string LineOf(const SetChange& change) { return "set " + change.path + " to " + change.value; }
std::string LineOf(const InsertChange& change) {
  return "insert " + std::string(KindWord(change.stage)) + " " + change.stage.name + " " +
         PlaceText(change.place);
}
std::string LineOf(const RemoveChange& change) { return "remove " + change.stage; }
std::string LineOf(const MoveChange& change) {
  return "move " + change.stage + " " + PlaceText(change.place);
}

}  // namespace

std::string_view PhraseFor(attribution::Cause cause) {
  constexpr std::array<std::string_view, attribution::kCauses> kPhrases = {
      "it is reading data",
      "it waits for a lock",
      "it sleeps or waits outside its own work",
      "its threads are ready but have no core",
      "finished elements are held back to preserve order",
      "it is CPU-bound",
      "it cannot run in parallel as configured",
      "it is fast enough on average, but its bursts drain the queue",
      "its workers are starting or stopping",
      "the trace does not show why"};
  return kPhrases[attribution::At(cause)];
}

std::string NameOf(attribution::Cause cause) {
  std::string name(attribution::WordFor(cause));
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string CostText(const findings::Recommendation& recommendation) {
  const int64_t bytes = recommendation.memory_bytes.value_or(0);
  if (bytes == 0) return {};
  return bytes > 0 ? "costs " + words::Bytes(static_cast<uint64_t>(bytes))
                   : "frees " + words::Bytes(-static_cast<uint64_t>(bytes));
}

std::string CounterText(const trace::CounterInfo& counter, double value) {
  const bool rate = timeline::IsCumulative(counter);
  if (counter.unit == "ns" && rate) return words::Percent(value) + " of the time";
  if (counter.unit == "bytes") return rate ? words::BytesPerSecond(value) : words::Bytes(value);
  if (counter.unit == "bytes/s") return words::BytesPerSecond(value);
  if (counter.unit == "percent") return words::Number(value) + "%";
  if (rate) return words::Rate(value);
  return words::Number(value) + (counter.unit.empty() || counter.unit == "count" ? "" : " ") +
         (counter.unit == "count" ? "" : counter.unit);
}

std::string AssumedOn(const trace::DeviceInfo& device) {
  if (!device.emulated()) return {};
  return "Emulated device: its compute, copy, op and launch times are assumed (from the spec).";
}

std::string SlowedText(const model::Run& run, const trace::Probe& window) {
  std::string text = std::string(run.NameOf(window.stage)) + " slowed";
  if (window.work_ns == 0) return text;
  return text + fmt::format(" by {:.0f}%", 100 * static_cast<double>(window.delay_ns) /
                                               static_cast<double>(window.work_ns));
}

std::vector<std::string> LinesOf(const Patch& patch) {
  std::vector<std::string> lines;
  for (const auto& change : patch.changes) {
    lines.push_back(std::visit([](const auto& one) { return LineOf(one); }, change));
  }
  return lines;
}

}  // namespace stallscope::viewmodel
