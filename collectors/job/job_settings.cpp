#include "collectors/job/job_settings.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "analyzer/base/escape.h"
#include "analyzer/spec/job_knobs.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec.h"
#include "analyzer/spec/validate.h"

namespace stallscope::job {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kEnv = "env.";
constexpr std::string_view kThreads = "job.threads";
constexpr const char* kKnobs =
    "knobs are loader.num_workers, .prefetch_factor, .persistent_workers, .pin_memory, "
    ".batch_size, .multiprocessing_context, .in_order; for other libraries' loaders "
    "loader.num_parallel_calls, .prefetch, .threads, .num_shards; job.threads; env.NAME";

std::string Quoted(const std::string& text) { return "'" + Printable(text) + "'"; }

Error BadSetting(const std::string& what, const std::string& setting,
                 const std::string& hint = "") {
  return {ErrorKind::kUsage, what, "--set " + setting, hint.empty() ? kKnobs : hint};
}

// From 1 on; nothing else in the text.
std::optional<uint32_t> Ordinal(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value == 0 || text[0] == '0') return std::nullopt;
  return value;
}

// loader, loader2, ...
bool IsLoaderName(std::string_view name) {
  if (!name.starts_with("loader")) return false;
  const std::string_view number = name.substr(6);
  return number.empty() || Ordinal(number).value_or(0) > 1;
}

// Those that are given for a loader, or for a knob.
Result<OrderedJson> PlacesOf(const std::string& name, const std::vector<std::string>& places) {
  OrderedJson found = OrderedJson::array();
  for (const std::string& place : places) {
    const size_t equals = place.find('=');
    const size_t colon = place.rfind(':');
    const bool whole = equals != std::string::npos && colon != std::string::npos && colon > equals;
    const auto line = whole ? Ordinal(std::string_view(place).substr(colon + 1)) : std::nullopt;
    if (!line) {
      return Error{ErrorKind::kUsage, "expected LOADER=FILE:LINE", "--at " + place, ""};
    }
    if (place.substr(0, equals) != name) continue;
    const std::string file = place.substr(equals + 1, colon - equals - 1);
    found.push_back(OrderedJson{{"file", file}, {"line", *line}});
  }
  return found;
}

// As a spec of a job takes it: the ranges, words and names are those of analyzer/spec.
Result<OrderedJson> CheckedValue(const std::string& path, const std::string& value,
                                 const std::string& loader) {
  // Nothing has been seen of the loader: it may be of any library.
  LoaderSpec any;
  const std::string field = path.substr(path.find('.') + 1);
  if (IsOtherLoaderKnob(field)) any.knobs = {field};
  Spec job;
  job.stages.push_back({loader, any});
  Status set;
  if (path.starts_with(kEnv)) {
    job.env[path.substr(kEnv.size())] = value;  // as it is: no JSON
  } else {
    set = SetKnob(job, path, value);
  }
  if (set.ok()) set = Validate(job, "");
  if (!set.ok()) return set.error();
  if (path.starts_with(kEnv)) return OrderedJson(value);
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string known, GetKnob(job, path));
  if (IsProgramsChoice(path, known)) {
    return Error{ErrorKind::kUsage, Quoted(known) + " is no value to set", path, ""};
  }
  OrderedJson json = OrderedJson::parse(known, nullptr, false);
  return json.is_discarded() ? OrderedJson(known) : json;
}

Result<OrderedJson> TakeSetting(const std::string& setting, const std::vector<std::string>& places,
                                JobSettings& settings) {
  const size_t equals = setting.find('=');
  const std::string path = setting.substr(0, equals);
  const size_t dot = path.find('.');
  if (equals == std::string::npos || dot == std::string::npos) {
    return BadSetting("expected KNOB=VALUE", setting);
  }
  const std::string value = setting.substr(equals + 1);
  const std::string group = path.substr(0, dot);
  const bool loader = IsLoaderName(group);
  if (!loader && path != kThreads && !path.starts_with(kEnv)) {
    return BadSetting("unknown knob " + Quoted(path), setting);
  }
  auto checked = CheckedValue(path, value, loader ? group : "loader");
  if (!checked.ok()) return BadSetting(checked.error().what, setting, checked.error().hint);
  if (path.starts_with(kEnv)) {
    settings.environment.emplace_back(path.substr(kEnv.size()), value);
  } else if (path == kThreads) {
    for (const std::string_view variable : kThreadVariables) {
      settings.environment.emplace_back(variable, value);
    }
  }
  OrderedJson one{{"knob", path}, {"value", std::move(checked).value()}};
  if (!loader) return one;
  STALLSCOPE_ASSIGN_OR_RETURN(const OrderedJson constructed, PlacesOf(group, places));
  if (!constructed.empty()) one["where"] = constructed.front();
  STALLSCOPE_ASSIGN_OR_RETURN(OrderedJson calls, PlacesOf(path, places));
  if (!calls.empty()) one["calls"] = std::move(calls);
  return one;
}

}  // namespace

Result<JobSettings> ReadSettings(const AskedSettings& asked) {
  JobSettings settings;
  OrderedJson set = OrderedJson::array();
  for (const std::string& setting : asked.set) {
    STALLSCOPE_ASSIGN_OR_RETURN(OrderedJson one, TakeSetting(setting, asked.at, settings));
    set.push_back(std::move(one));
  }
  const OrderedJson json{
      {"version", 1},           {"steps", asked.steps}, {"profile", asked.profile},
      {"digest", asked.digest}, {"probe", asked.probe}, {"set", std::move(set)}};
  settings.json = JsonText(json) + "\n";
  return settings;
}

std::vector<std::string> EnvironmentOf(char* const* inherited, const std::string& session,
                                       const std::string& shim, const JobSettings& settings) {
  std::vector<std::pair<std::string, std::string>> changes = settings.environment;
  changes.emplace_back("STALLSCOPE_SESSION", session);
  std::string python_path = shim;
  std::vector<std::string> environment;
  const auto changed = [&](const std::string& name) {
    return std::any_of(changes.begin(), changes.end(),
                       [&](const auto& change) { return change.first == name; });
  };
  for (; *inherited != nullptr; ++inherited) {
    const std::string variable = *inherited;
    const size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    if (name == "PYTHONPATH" && equals + 1 < variable.size()) {
      python_path += ":" + variable.substr(equals + 1);
    } else if (name != "PYTHONPATH" && !changed(name)) {
      environment.push_back(variable);
    }
  }
  changes.emplace_back("PYTHONPATH", python_path);
  for (size_t i = 0; i < changes.size(); ++i) {
    const auto again = [&](const auto& later) { return later.first == changes[i].first; };
    const auto next = changes.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::any_of(next, changes.end(), again)) continue;  // the last one counts
    environment.push_back(changes[i].first + "=" + changes[i].second);
  }
  return environment;
}

}  // namespace stallscope::job
