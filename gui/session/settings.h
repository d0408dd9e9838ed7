// What the program remembers of its user, and the file that it stands in:
// $XDG_CONFIG_HOME/stallscope/settings.json. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "gui/session/kept_file.h"

namespace stallscope::session {

enum class Theme : uint8_t { kDark, kLight };

constexpr size_t kMostRecent = 10;
constexpr double kSmallestScale = 0.5;
constexpr double kLargestScale = 4;

struct Settings {
  Theme theme = Theme::kDark;
  double scale = 0;  // of the font; 0: as the screen says
  bool tour_done = false;
  std::vector<std::string> recent;  // paths, the last one first
  int window_width = 1600;
  int window_height = 900;
  bool operator==(const Settings&) const = default;
};

// Brings a path to the front of `recent`.
void Remember(Settings& settings, const std::string& path);

// By $XDG_CONFIG_HOME, else $HOME/.config; empty where neither is set. `get` is std::getenv, or a
// test's.
std::string SettingsPath(const std::function<const char*(const char*)>& get);

// A file that is not there gives the defaults, and so does each value that makes no sense: a broken
// settings file must not keep the program from starting.
Settings ReadSettings(const std::string& path);
// Makes the folder where it is missing; the file is replaced whole or not at all.
Status WriteSettings(const Settings& settings, const std::string& path,
                     FileOps& ops = FileOps::Kernel());

// How windows share them: each brings in what it changed, and the files that it opened.
struct SettingsForm {
  static bool Differ(const Settings& a, const Settings& b) { return !(a == b); }
  static Settings Merge(const Settings& before, const Settings& mine, const Settings& theirs);
  // An error where the file is there and cannot be read: it is not replaced then.
  static Result<std::optional<Settings>> Read(const std::string& path);
  static Status Write(const Settings& settings, const std::string& path, FileOps& ops) {
    return WriteSettings(settings, path, ops);
  }
};
using SettingsFile = KeptFile<Settings, SettingsForm>;

}  // namespace stallscope::session
