#include "replay/sweep/adopt.h"

#include <map>

namespace stallscope::replay {
namespace {

// The same configuration has the same key.
std::string KeyOf(const Point& point) {
  std::string key = std::to_string(point.cores) + "\n";
  for (const Setting& setting : point.set) key += setting.path + "=" + setting.value + "\n";
  if (point.patch.has_value()) key += WritePatch(*point.patch, JsonLayout::kOneLine);
  return key;
}

void TakeFigures(const Point& old, Point& planned) {
  const std::string planned_error = planned.error;
  std::string name = planned.name;
  planned = old;
  planned.name = std::move(name);
  // One that makes no valid spec is an error whatever the file says.
  if (!planned_error.empty()) planned.error = planned_error;
}

const char* Difference(const Sweep& old, const Sweep& planned) {
  if (old.kind != planned.kind) return "of another kind";
  if (old.recorded_ns != planned.recorded_ns || old.spec_json != planned.spec_json) {
    return "of another run";
  }
  return old.emulated != planned.emulated ? "run in another way (--emulate)" : nullptr;
}

}  // namespace

Status Adopt(const Sweep& old, Sweep& planned, const std::string& path) {
  const char* const difference = Difference(old, planned);
  if (difference != nullptr) {
    return Error{ErrorKind::kUsage, std::string("the sweep in the file is ") + difference, path,
                 "resume with the command that began it, or choose another -o"};
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < Configurations(planned); ++i) {
    places.emplace(KeyOf(ConfigurationAt(planned, i)), i);
  }
  for (size_t i = 0; i < Configurations(old); ++i) {
    const Point& point = ConfigurationAt(old, i);
    const auto place = places.find(KeyOf(point));
    if (place != places.end()) {
      TakeFigures(point, ConfigurationAt(planned, place->second));
    } else if (i < old.points.size()) {
      return Error{ErrorKind::kUsage,
                   "the sweep in the file has a point that is not asked for: " + NameOf(point),
                   path, "resume with the command that began it, or choose another -o"};
    }
  }
  planned.warnings = old.warnings;
  return {};
}

}  // namespace stallscope::replay
