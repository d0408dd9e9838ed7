#include "collectors/job/job_settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "analyzer/base/escape.h"

namespace stallscope::job {
namespace {

using OrderedJson = nlohmann::ordered_json;

enum class KnobKind { kNumber, kFlag, kStart };
struct Knob {
  const char* name;
  KnobKind kind;
  int64_t least = 0;
};
constexpr Knob kLoaderKnobs[] = {
    {"num_workers", KnobKind::kNumber, 0},   {"prefetch_factor", KnobKind::kNumber, 1},
    {"persistent_workers", KnobKind::kFlag}, {"pin_memory", KnobKind::kFlag},
    {"batch_size", KnobKind::kNumber, 1},    {"multiprocessing_context", KnobKind::kStart},
    {"in_order", KnobKind::kFlag},
};
constexpr int64_t kMostOfAKnob = 1'000'000;
constexpr const char* kKnobs =
    "knobs are loader.num_workers, .prefetch_factor, .persistent_workers, .pin_memory, "
    ".batch_size, .multiprocessing_context, .in_order; job.threads; env.NAME";
// The variables that the math libraries of a process take their number of threads from.
constexpr const char* kThreadVariables[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                            "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
                                            "VECLIB_MAXIMUM_THREADS"};

std::string Quoted(const std::string& text) { return "'" + Printable(text) + "'"; }

Error BadSetting(const std::string& what, const std::string& setting) {
  return {ErrorKind::kUsage, what, "--set " + setting, kKnobs};
}

std::optional<int64_t> WholeNumber(std::string_view text, int64_t least) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < least || value > kMostOfAKnob) return std::nullopt;
  return value;
}

std::optional<OrderedJson> ValueOf(const Knob& knob, const std::string& text) {
  switch (knob.kind) {
    case KnobKind::kNumber:
      if (const auto number = WholeNumber(text, knob.least)) return OrderedJson(*number);
      return std::nullopt;
    case KnobKind::kFlag:
      if (text == "true" || text == "false") return OrderedJson(text == "true");
      return std::nullopt;
    case KnobKind::kStart:
      if (text == "fork" || text == "spawn" || text == "forkserver") return OrderedJson(text);
      return std::nullopt;
  }
  return std::nullopt;
}

// loader, loader2, ...
bool IsLoaderName(std::string_view name) {
  if (!name.starts_with("loader")) return false;
  const std::string_view number = name.substr(6);
  return number.empty() || (WholeNumber(number, 2).has_value() && number[0] != '0');
}

bool IsVariableName(std::string_view name) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), fits);
}

// What stallscope itself puts there.
bool IsOurs(const std::string& variable) {
  return variable == "PYTHONPATH" || variable.starts_with("STALLSCOPE_");
}

// Null where the loader's place is not given.
Result<OrderedJson> PlaceOf(const std::string& loader, const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    const size_t equals = place.find('=');
    const size_t colon = place.rfind(':');
    const bool whole = equals != std::string::npos && colon != std::string::npos && colon > equals;
    const auto line =
        whole ? WholeNumber(std::string_view(place).substr(colon + 1), 1) : std::nullopt;
    if (!line) {
      return Error{ErrorKind::kUsage, "expected LOADER=FILE:LINE", "--at " + place, ""};
    }
    if (place.substr(0, equals) != loader) continue;
    return OrderedJson{{"file", place.substr(equals + 1, colon - equals - 1)}, {"line", *line}};
  }
  return OrderedJson();
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
  const std::string name = path.substr(dot + 1);
  if (group == "env" && IsVariableName(name)) {
    if (IsOurs(name)) return BadSetting(Quoted(name) + " is stallscope's own", setting);
    settings.environment.emplace_back(name, value);
    return OrderedJson{{"knob", path}, {"value", value}};
  }
  if (path == "job.threads") {
    const auto threads = WholeNumber(value, 1);
    if (!threads) return BadSetting(Quoted(value) + " is not a number of threads", setting);
    for (const char* variable : kThreadVariables)
      settings.environment.emplace_back(variable, value);
    return OrderedJson{{"knob", path}, {"value", *threads}};
  }
  if (IsLoaderName(group)) {
    for (const Knob& knob : kLoaderKnobs) {
      if (name != knob.name) continue;
      const auto known = ValueOf(knob, value);
      if (!known) return BadSetting(Quoted(value) + " is not a value of " + path, setting);
      OrderedJson one{{"knob", path}, {"value", *known}};
      STALLSCOPE_ASSIGN_OR_RETURN(OrderedJson place, PlaceOf(group, places));
      if (!place.is_null()) one["where"] = std::move(place);
      return one;
    }
  }
  return BadSetting("unknown knob " + Quoted(path), setting);
}

}  // namespace

Result<JobSettings> ReadSettings(const AskedSettings& asked) {
  JobSettings settings;
  OrderedJson set = OrderedJson::array();
  for (const std::string& setting : asked.set) {
    STALLSCOPE_ASSIGN_OR_RETURN(OrderedJson one, TakeSetting(setting, asked.at, settings));
    set.push_back(std::move(one));
  }
  const OrderedJson json{{"version", 1},
                         {"steps", asked.steps},
                         {"profile", asked.profile ? "auto" : "off"},
                         {"digest", asked.digest},
                         {"set", std::move(set)}};
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
