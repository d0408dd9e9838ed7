#include "gui/session/settings.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"

namespace stallscope::session {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 20;
constexpr int kSmallestWindow = 320;
constexpr int kLargestWindow = 32'768;

int WindowSide(const nlohmann::json& json, const char* key, int otherwise) {
  if (!json.contains(key) || !json[key].is_number_integer()) return otherwise;
  const auto value = json[key].get<int64_t>();
  return value >= kSmallestWindow && value <= kLargestWindow ? static_cast<int>(value) : otherwise;
}

}  // namespace

void Remember(Settings& settings, const std::string& path) {
  std::vector<std::string>& recent = settings.recent;
  recent.erase(std::remove(recent.begin(), recent.end(), path), recent.end());
  recent.insert(recent.begin(), path);
  if (recent.size() > kMostRecent) recent.resize(kMostRecent);
}

std::string SettingsPath(const std::function<const char*(const char*)>& get) {
  const char* const config = get("XDG_CONFIG_HOME");
  // The specification: a path that is not absolute counts for nothing.
  if (config != nullptr && config[0] == '/') {
    return std::string(config) + "/stallscope/settings.json";
  }
  const char* const home = get("HOME");
  if (home == nullptr || home[0] == '\0') return {};
  return std::string(home) + "/.config/stallscope/settings.json";
}

Settings ReadSettings(const std::string& path) {
  Settings settings;
  const auto text = ReadWholeFile(path, kMostBytes);
  if (!text.ok()) return settings;
  const auto json = nlohmann::json::parse(text.value(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return settings;
  if (json.contains("theme") && json["theme"] == "light") settings.theme = Theme::kLight;
  if (json.contains("scale") && json["scale"].is_number()) {
    const auto scale = json["scale"].get<double>();
    if (scale >= kSmallestScale && scale <= kLargestScale) settings.scale = scale;
  }
  settings.tour_done = json.contains("tour_done") && json["tour_done"] == true;
  settings.window_width = WindowSide(json, "window_width", settings.window_width);
  settings.window_height = WindowSide(json, "window_height", settings.window_height);
  if (json.contains("recent") && json["recent"].is_array()) {
    for (const auto& one : json["recent"]) {
      if (one.is_string() && settings.recent.size() < kMostRecent) {
        settings.recent.push_back(one.get<std::string>());
      }
    }
  }
  return settings;
}

Status WriteSettings(const Settings& settings, const std::string& path) {
  const nlohmann::ordered_json json = {
      {"theme", settings.theme == Theme::kLight ? "light" : "dark"},
      {"scale", settings.scale},
      {"tour_done", settings.tour_done},
      {"window_width", settings.window_width},
      {"window_height", settings.window_height},
      {"recent", settings.recent}};
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  if (failed) {
    return Error{ErrorKind::kRun, "the folder for settings cannot be made: " + failed.message(),
                 path, ""};
  }
  return WriteFileAtomically(path, JsonText(json) + "\n", Over::kOwnInput);
}

}  // namespace stallscope::session
