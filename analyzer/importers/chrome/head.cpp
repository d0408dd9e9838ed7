#include "analyzer/importers/chrome/head.h"

#include <simdjson.h>

#include <limits>

#include "analyzer/importers/chrome/decimal.h"
#include "analyzer/importers/chrome/json_text.h"
#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers::chrome {
namespace {

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

// Past these, the list is somebody's joke.
constexpr size_t kMostDevices = 4'096;

bool TakeDevices(std::string_view value, std::map<uint32_t, DeviceProperties>& devices) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  const simdjson::padded_string text(value);
  if (parser.parse(text).get(list) != simdjson::SUCCESS) return false;
  for (const simdjson::dom::element device : list) {
    simdjson::dom::element id;
    if (device["id"].get(id) != simdjson::SUCCESS) continue;
    const std::optional<uint32_t> number = NumberOf(id);
    if (!number) continue;
    if (devices.size() >= kMostDevices && devices.count(*number) == 0) return false;
    DeviceProperties& properties = devices[*number];
    std::string_view name;
    if (device["name"].get(name) == simdjson::SUCCESS) properties.name = CutName(name);
    uint64_t bytes = 0;
    if (device["totalGlobalMem"].get(bytes) == simdjson::SUCCESS) properties.memory_bytes = bytes;
  }
  return true;
}

bool TakeRanks(std::string_view value, Head& head) {
  simdjson::dom::parser parser;
  simdjson::dom::element ranks;
  const simdjson::padded_string text(value);
  if (parser.parse(text).get(ranks) != simdjson::SUCCESS) return false;
  simdjson::dom::element number;
  if (ranks["rank"].get(number) == simdjson::SUCCESS) head.rank = NumberOf(number);
  if (ranks["world_size"].get(number) == simdjson::SUCCESS) {
    head.world_size = NumberOf(number).value_or(0);
  }
  return true;
}

}  // namespace

bool Head::Wants(std::string_view key) {
  return key == "deviceProperties" || key == "distributedInfo";
}

Head::Taken Head::Take(std::string_view key, std::string_view value) {
  bool sound = true;
  if (Wants(key) && value.size() > kMostMemberBytes) return Taken::kTooLong;
  if (key == "schemaVersion") {
    schema_version = TextOf(value);
    from_pytorch = true;
  } else if (key == "deviceProperties") {
    from_pytorch = true;
    sound = TakeDevices(value, devices);
  } else if (key == "distributedInfo") {
    from_pytorch = true;
    sound = TakeRanks(value, *this);
  } else if (key == "baseTimeNanoseconds") {
    from_pytorch = true;
    const std::optional<uint64_t> base = WholeNumber(TextOf(value));
    if (base && *base <= static_cast<uint64_t>(trace::kMaxTimeNs)) {
      base_time_ns = static_cast<int64_t>(*base);
    }
  } else if (key == "traceName") {
    trace_name = TextOf(value);
  } else if (key == "displayTimeUnit") {
    display_unit = TextOf(value);
  } else if (key == "cuda_driver_version" || key == "hip_driver_version") {
    driver = TextOf(value);
  }
  return sound ? Taken::kYes : Taken::kMalformed;
}

}  // namespace stallscope::importers::chrome
