#include "analyzer/model/job_spec.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "analyzer/model/mappers.h"
#include "analyzer/spec/job_knobs.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/validate.h"

namespace stallscope::model {
namespace {

constexpr size_t kMostLoaders = 64;
constexpr int64_t kMostOfASetting = 1'000'000;

using Settings = std::map<std::string, std::string>;

void Take(const Settings& settings, const char* key, int64_t least, int64_t& value) {
  const auto found = settings.find(key);
  if (found == settings.end()) return;
  const std::string& text = found->second;
  int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return;
  if (number >= least && number <= kMostOfASetting) value = number;
}

void Take(const Settings& settings, const char* key, bool& value) {
  const auto found = settings.find(key);
  if (found == settings.end() || (found->second != "true" && found->second != "false")) return;
  value = found->second == "true";
}

StartMethod StartOf(const Settings& settings) {
  const auto found = settings.find("multiprocessing_context");
  if (found == settings.end()) return StartMethod::kInherited;
  for (const StartMethod method :
       {StartMethod::kFork, StartMethod::kSpawn, StartMethod::kForkserver}) {
    if (found->second == '"' + std::string(ToWord(method)) + '"') return method;
  }
  return StartMethod::kInherited;
}

}  // namespace

bool IsJob(const Run& run) { return !run.info.job.command.empty(); }

std::map<std::string, std::string> SettingsOf(const trace::LoaderInfo& info) {
  Settings settings;
  const auto tree = ParseJson(info.settings_json, "", "settings");
  if (!tree.ok() || !tree.value().is_object()) return settings;
  for (const auto& [name, value] : tree.value().items()) {
    settings[name] = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return settings;
}

std::string CallPlaceOf(const trace::LoaderInfo& info, std::string_view knob) {
  const Settings settings = SettingsOf(info);
  const auto at = settings.find(std::string(knob) + "_at");
  const bool text = at != settings.end() && at->second.size() > 2 && at->second.front() == '"';
  return text ? at->second.substr(1, at->second.size() - 2) : "";
}

std::unordered_map<uint64_t, std::vector<ItemId>> OtherBatches(const Run& run) {
  constexpr size_t kMostOthers = 16;  // a damaged trace may say anything
  std::unordered_map<uint64_t, std::vector<ItemId>> others;
  if (!IsJob(run)) return others;
  for (const trace::Lineage& line : run.rows.lineage) {
    if (!IsTrainer(run, line.stage) || line.in == line.out) continue;
    std::vector<ItemId>& more = others[line.out.value];
    const bool known = std::find(more.begin(), more.end(), line.in) != more.end();
    if (!known && more.size() < kMostOthers) more.push_back(line.in);
  }
  return others;
}

std::string ItemInWords(const Run& run, ItemId item) {
  if (!IsJob(run)) return "element " + std::to_string(item.value);
  const std::string batch = "batch " + std::to_string(item.value & UINT32_MAX);
  const uint64_t pass = PassOfBatch(item) & UINT16_MAX;
  return pass == 0 ? batch : batch + " of pass " + std::to_string(pass + 1);
}

bool IsTfData(const trace::LoaderInfo& loader) { return loader.kind.starts_with("tf.data"); }

bool IsGrain(const trace::LoaderInfo& info) { return info.kind.starts_with("grain."); }

bool IsMadeAgain(const trace::LoaderInfo& info) { return SettingsOf(info).contains("made_again"); }

bool IsDataLoader(const trace::LoaderInfo& info) {
  // The processes of others are a setting that is called like those of a DataLoader.
  if (IsTfData(info) || IsGrain(info) || HasMappers(info)) return false;
  const Settings settings = SettingsOf(info);
  return settings.empty() || std::any_of(kLoaderKnobs.begin(), kLoaderKnobs.end(), [&](auto knob) {
           return settings.contains(std::string(knob));
         });
}

LoaderSpec LoaderSpecOf(const trace::LoaderInfo& info) {
  LoaderSpec loader;
  const Settings settings = SettingsOf(info);
  Take(settings, "num_workers", 0, loader.num_workers);
  Take(settings, "prefetch_factor", 1, loader.prefetch_factor);
  Take(settings, "persistent_workers", loader.persistent_workers);
  Take(settings, "pin_memory", loader.pin_memory);
  Take(settings, "batch_size", 1, loader.batch_size);
  Take(settings, "in_order", loader.in_order);
  Take(settings, "iterable", loader.iterable);
  loader.multiprocessing_context = StartOf(settings);
  Take(settings, "num_parallel_calls", 1, loader.num_parallel_calls);
  Take(settings, "prefetch", 1, loader.prefetch);
  Take(settings, "threads", 1, loader.threads);
  Take(settings, "num_shards", 1, loader.num_shards);
  for (const std::string_view knob : kOtherLoaderKnobs) {
    if (settings.contains(std::string(knob))) loader.knobs.emplace_back(knob);
  }
  if (IsDataLoader(info)) {
    if (loader.knobs.empty()) return loader;
    loader.knobs.insert(loader.knobs.begin(), kLoaderKnobs.begin(), kLoaderKnobs.end());
  } else if (settings.contains("num_workers")) {
    loader.knobs.insert(loader.knobs.begin(), "num_workers");
  }
  return loader;
}

std::optional<Spec> JobSpecOf(const Run& run) {
  if (!IsJob(run) || run.loaders.empty()) return std::nullopt;
  std::vector<const Loader*> loaders;
  for (const Loader& loader : run.loaders) {
    const bool settable = IsDataLoader(loader.info) || !LoaderSpecOf(loader.info).knobs.empty();
    if (!loader.name.empty() && settable && !loader.same_as.known()) loaders.push_back(&loader);
  }
  if (loaders.empty()) return std::nullopt;
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
