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

namespace {

Settings SettingsOf(const std::string& text) {
  Settings settings;
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
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

// What was opened to make `after` of `before`, the last one first: the shortest beginning of it
// whose rest stood in `before` too, in that order.
std::vector<std::string> OpenedSince(const std::vector<std::string>& before,
                                     const std::vector<std::string>& after) {
  std::vector<std::string> opened;
  for (size_t count = 0; count <= after.size(); ++count) {
    opened.assign(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<std::string> rest;
    for (const std::string& path : before) {
      if (std::find(opened.begin(), opened.end(), path) == opened.end()) rest.push_back(path);
    }
    if (after.size() - count <= rest.size() &&
        std::equal(after.begin() + static_cast<std::ptrdiff_t>(count), after.end(), rest.begin())) {
      break;
    }
  }
  return opened;
}

}  // namespace

Settings ReadSettings(const std::string& path) {
  const auto text = ReadWholeFile(path, kMostBytes);
  return text.ok() ? SettingsOf(text.value()) : Settings{};
}

Result<std::optional<Settings>> SettingsForm::Read(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return std::optional<Settings>();
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMostBytes));
  return std::optional<Settings>(SettingsOf(text));
}

Settings SettingsForm::Merge(const Settings& before, const Settings& mine, const Settings& theirs) {
  Settings merged = theirs;
  if (mine.theme != before.theme) merged.theme = mine.theme;
  if (mine.scale != before.scale) merged.scale = mine.scale;
  merged.tour_done = mine.tour_done || theirs.tour_done;
  if (mine.window_width != before.window_width) merged.window_width = mine.window_width;
  if (mine.window_height != before.window_height) merged.window_height = mine.window_height;
  const std::vector<std::string> opened = OpenedSince(before.recent, mine.recent);
  for (auto path = opened.rbegin(); path != opened.rend(); ++path) Remember(merged, *path);
  return merged;
}

Status WriteSettings(const Settings& settings, const std::string& path, FileOps& ops) {
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
    return Error{ErrorKind::kRun, "cannot create the settings folder: " + failed.message(), path,
                 ""};
  }
  return WriteFileAtomically(path, JsonText(json) + "\n", Over::kOwnInput, ops);
}

}  // namespace stallscope::session
