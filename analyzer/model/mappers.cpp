#include "analyzer/model/mappers.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/spec/json_text.h"

namespace stallscope::model {
namespace {

using Json = nlohmann::json;
using TimeByPlace = std::map<std::string, double>;

constexpr const char* kAll = "mappers";
constexpr const char* kChosen = "mapper";

// A trace may say anything: not a table if it is none.
Json SettingsTree(const trace::LoaderInfo& info) {
  if (info.settings_json.find(kChosen) == std::string::npos) return nullptr;
  auto tree = ParseJson(info.settings_json, "", "settings");
  return tree.ok() && tree.value().is_object() ? std::move(tree).value() : Json();
}

std::vector<std::string> FunctionsOf(const Json& mapper) {
  std::vector<std::string> functions;
  const auto known = mapper.find("functions");
  if (known == mapper.end() || !known->is_array()) return functions;
  for (const Json& each : *known) {
    if (each.is_string()) functions.push_back(each.get<std::string>());
  }
  return functions;
}

// "data.py:7": a trace has no room for whole paths.
std::string ShortPlace(const std::string& file, uint32_t line) {
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(line);
}

bool InProcesses(const Json& mapper) { return mapper.value("method", Json()) == "process"; }

// Of the ops at each place, with the ops inside them.
TimeByPlace TimeOfOps(const Run& run) {
  std::vector<double> by_class(run.span_classes.size());
  for (const Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      by_class[track.spans.span_class[i]] += static_cast<double>(track.spans.DurationNs(i));
    }
  }
  TimeByPlace times;
  for (size_t i = 0; i < by_class.size(); ++i) {
    const trace::SpanClass& what = run.span_classes[i];
    if (what.activity != trace::SpanActivity::kOp) continue;
    const trace::OpInfo* const op = run.OpOf(what.name);
    if (op != nullptr) times[ShortPlace(op->file, op->line)] += by_class[i];
  }
  return times;
}

const Json* Slowest(const Json& mappers, const Run& run, std::optional<TimeByPlace>& times) {
  if (mappers.size() == 1) return &mappers[0];
  if (!times) times = TimeOfOps(run);
  const Json* slowest = nullptr;
  double longest = 0;
  for (const Json& mapper : mappers) {
    double time = 0;
    for (const std::string& place : FunctionsOf(mapper)) {
      const auto known = times->find(place);
      if (known != times->end()) time += known->second;
    }
    if (time <= longest) continue;
    longest = time;
    slowest = &mapper;
  }
  return slowest;
}

}  // namespace

void ChooseMappers(Run& run) {
  std::optional<TimeByPlace> times;  // of the first loader that asks
  for (Loader& loader : run.loaders) {
    Json settings = SettingsTree(loader.info);
    const Json mappers = settings.is_object() ? settings.value(kAll, Json()) : Json();
    if (!mappers.is_array()) continue;
    Json tables = Json::array();
    for (const Json& each : mappers) {
      if (each.is_object()) tables.push_back(each);
    }
    const Json* const chosen = tables.empty() ? nullptr : Slowest(tables, run, times);
    if (chosen == nullptr) continue;
    const Json workers = chosen->value("workers", Json());
    const bool processes = InProcesses(*chosen);
    settings["threads"] = processes || workers == 0 ? Json() : workers;
    settings["num_workers"] = processes ? workers : Json(0);
    settings["threads_at"] = settings["num_workers_at"] = chosen->value("at", Json());
    settings[kChosen] = *chosen;
    loader.info.settings_json = settings.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

bool HasMappers(const trace::LoaderInfo& info) {
  const Json settings = SettingsTree(info);
  return settings.is_object() && settings.contains(kAll);
}

std::optional<Mapper> MapperOf(const trace::LoaderInfo& info) {
  const Json settings = SettingsTree(info);
  if (!settings.is_object() || !settings.value(kChosen, Json()).is_object()) return std::nullopt;
  const Json& chosen = settings[kChosen];
  Mapper mapper{FunctionsOf(chosen), InProcesses(chosen), std::nullopt};
  const Json most = chosen.value("max_concurrent", Json());
  if (most.is_number_integer()) mapper.max_concurrent = most.get<int64_t>();
  return mapper;
}

bool Calls(const Mapper& mapper, const std::string& file, uint32_t line) {
  const auto& functions = mapper.functions;
  return std::find(functions.begin(), functions.end(), ShortPlace(file, line)) != functions.end();
}

}  // namespace stallscope::model
