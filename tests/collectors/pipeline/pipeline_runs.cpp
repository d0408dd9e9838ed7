#include "tests/collectors/pipeline/pipeline_runs.h"

#include <doctest/doctest.h>

#include "analyzer/spec/spec_json.h"
#include "collectors/data/generate.h"

namespace stallscope::test {

std::string IdsText(const std::vector<pipeline::ElementId>& ids) {
  std::string text;
  for (const pipeline::ElementId& id : ids) {
    text += (text.empty() ? "" : " ") + std::to_string(id.file) + ":" + std::to_string(id.record) +
            "@" + std::to_string(id.epoch);
  }
  return text;
}

Delivered RunStages(const std::string& stages, const std::string& more, int64_t batches,
                    recorder::Recorder* recorder, const std::string& stores) {
  Delivered delivered;
  const auto spec =
      ReadSpec("{\"stages\": [" + stages + "]" + (more.empty() ? "" : ", " + more) + "}", "test");
  if (!spec.ok()) {
    delivered.error = spec.error();
    return delivered;
  }
  auto built = pipeline::Pipeline::Build(spec.value(),
                                         {.recorder = recorder, .digest = true, .stores = stores});
  if (!built.ok()) {
    delivered.error = built.error();
    return delivered;
  }
  pipeline::Pipeline& running = *built.value();
  delivered.graph = running.graph_json();
  for (int64_t i = 0; i < batches; ++i) {
    auto next = running.Next();
    if (!next.ok()) {
      delivered.error = next.error();
      break;
    }
    if (!next.value().has_value()) break;
    pipeline::Element& batch = *next.value();
    if (batch.batch != nullptr) {
      const pipeline::BatchMembers& members = *batch.batch;
      delivered.ids.insert(delivered.ids.end(), members.ids.begin(), members.ids.end());
      delivered.labels.insert(delivered.labels.end(), members.labels.begin(), members.labels.end());
    } else {
      delivered.ids.push_back(batch.id);
      delivered.labels.push_back(batch.label);
    }
    delivered.shapes.push_back(batch.value.shape().ToString());
    delivered.values.emplace_back(batch.value.view().begin(), batch.value.view().end());
    for (const pipeline::Element& other : batch.others) {
      const std::vector<pipeline::ElementId> one = {other.id};
      const auto& ids = other.batch != nullptr ? other.batch->ids : one;
      delivered.other_ids.insert(delivered.other_ids.end(), ids.begin(), ids.end());
      delivered.other_shapes.push_back(other.value.shape().ToString());
      delivered.other_values.emplace_back(other.value.view().begin(), other.value.view().end());
    }
    running.Recycle(std::move(batch));
  }
  delivered.digest = running.Digest();
  delivered.stats = running.stats();
  return delivered;
}

std::string MakeData(const std::string& folder, data::DataFormat format, int images, int shards,
                     int width, int height) {
  data::GenerateOptions options;
  options.folder = folder;
  options.format = format;
  options.images = images;
  options.width = width;
  options.height = height;
  options.classes = 3;
  options.shards = shards;
  options.threads = 2;
  REQUIRE(data::Generate(options).ok());
  return format == data::DataFormat::kImages ? folder : folder + "/*";
}

}  // namespace stallscope::test
