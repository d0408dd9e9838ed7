#include "analyzer/model/job_spec.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/spec/validate.h"

namespace stallscope::model {
namespace {

constexpr size_t kMostLoaders = 64;
constexpr int64_t kMostOfASetting = 1'000'000;

void Take(const nlohmann::json& json, const char* key, int64_t least, int64_t& value) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return;
  const auto number = found->get<int64_t>();
  if (number >= least && number <= kMostOfASetting) value = number;
}

void Take(const nlohmann::json& json, const char* key, bool& value) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_boolean()) value = found->get<bool>();
}

StartMethod StartOf(const nlohmann::json& json) {
  const auto found = json.find("multiprocessing_context");
  if (found == json.end() || !found->is_string()) return StartMethod::kInherited;
  for (const StartMethod method :
       {StartMethod::kFork, StartMethod::kSpawn, StartMethod::kForkserver}) {
    if (found->get_ref<const std::string&>() == ToWord(method)) return method;
  }
  return StartMethod::kInherited;
}

}  // namespace

bool IsJob(const Run& run) { return !run.info.job.command.empty(); }

LoaderSpec LoaderSpecOf(const trace::LoaderInfo& info) {
  LoaderSpec loader;
  const auto json = nlohmann::json::parse(info.settings_json, nullptr, false);
  if (!json.is_object()) return loader;
  Take(json, "num_workers", 0, loader.num_workers);
  Take(json, "prefetch_factor", 1, loader.prefetch_factor);
  Take(json, "persistent_workers", loader.persistent_workers);
  Take(json, "pin_memory", loader.pin_memory);
  Take(json, "batch_size", 1, loader.batch_size);
  Take(json, "in_order", loader.in_order);
  Take(json, "iterable", loader.iterable);
  loader.multiprocessing_context = StartOf(json);
  return loader;
}

std::optional<Spec> JobSpecOf(const Run& run) {
  if (!IsJob(run) || run.loaders.empty()) return std::nullopt;
  std::vector<const Loader*> loaders;
  for (const Loader& loader : run.loaders) {
    if (!loader.name.empty()) loaders.push_back(&loader);
  }
  // As they are named: loader, loader2, ...
  std::stable_sort(loaders.begin(), loaders.end(),
                   [](const Loader* a, const Loader* b) { return a->steps > b->steps; });
  loaders.resize(std::min(loaders.size(), kMostLoaders));
  Spec spec;
  spec.name = run.info.name;
  for (const Loader* loader : loaders) {
    spec.stages.push_back({loader->name, LoaderSpecOf(loader->info)});
  }
  // A file's name may be anything.
  if (!Validate(spec).ok()) spec.name.clear();
  if (!Validate(spec).ok()) return std::nullopt;
  return spec;
}

}  // namespace stallscope::model
