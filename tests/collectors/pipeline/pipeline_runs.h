// Runs pipelines of specs in JSON, and tells what came out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/manifest.h"
#include "collectors/pipeline/pipeline.h"

namespace stallscope::test {

// "0:3@1" is record 3 of file 0 in epoch 1.
std::string IdsText(const std::vector<pipeline::ElementId>& ids);

struct Delivered {
  std::vector<pipeline::ElementId> ids;  // of all samples in order
  std::vector<int64_t> labels;
  std::vector<std::string> shapes;           // of the batches
  std::vector<std::vector<uint8_t>> values;  // of the batches
  // The same of their second part, where sources are zipped.
  std::vector<pipeline::ElementId> other_ids;
  std::vector<std::string> other_shapes;
  std::vector<std::vector<uint8_t>> other_values;
  std::string digest;
  std::string graph;
  pipeline::PipelineStats stats;
  std::optional<Error> error;  // that ended it

  std::string Ids() const { return IdsText(ids); }
};

// Everything that the stages give, at most `batches` of it. `stages` and `more` are JSON: the list
// of stages without its brackets, and further members of the spec.
Delivered RunStages(const std::string& stages, const std::string& more = "",
                    int64_t batches = 1'000'000, recorder::Recorder* recorder = nullptr,
                    const std::string& stores = "");

// Makes a data set of small pictures, and gives the glob that names it.
std::string MakeData(const std::string& folder, data::DataFormat format, int images = 24,
                     int shards = 3, int width = 64, int height = 48);

}  // namespace stallscope::test
