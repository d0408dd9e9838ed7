#include "replay/rerun/stores.h"

#include <filesystem>
#include <variant>

namespace stallscope::replay {

Spec WithStoresIn(Spec spec, const std::string& folder) {
  const auto move = [&](const std::string& stage, std::string& path) {
    std::error_code ignored;
    if (path.empty() || std::filesystem::exists(path, ignored)) return;
    path = folder + "/store-" + stage;
  };
  for (StageSpec& stage : spec.stages) {
    if (auto* snapshot = std::get_if<SnapshotSpec>(&stage.kind)) move(stage.name, snapshot->path);
    auto* cache = std::get_if<CacheSpec>(&stage.kind);
    if (cache != nullptr && cache->where == CacheWhere::kDisk) move(stage.name, cache->path);
  }
  return spec;
}

}  // namespace stallscope::replay
