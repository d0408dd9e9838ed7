// Inside this room: makes stages of a graph and names them in the recording.
#ifndef STALLSCOPE_COLLECTORS_PIPELINE_BUILDER_H_
#define STALLSCOPE_COLLECTORS_PIPELINE_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "collectors/pipeline/element_store.h"
#include "collectors/pipeline/graph.h"
#include "collectors/pipeline/reader.h"
#include "collectors/pipeline/runner.h"
#include "collectors/pipeline/tuner.h"
#include "collectors/pipeline/worker_stage.h"

namespace stallscope::pipeline {

class Builder {
 public:
  // `graph` is completed with the numbers of the maps on the device. `stores` is
  // PipelineOptions::stores.
  Builder(Graph& graph, SourceFiles files, uint64_t seed, int64_t cores, std::string stores,
          StageContext& context);

  // The last stage; its threads run already.
  Result<StagePtr> Build();
  std::vector<Tunable> TakeTunables() { return std::move(tunables_); }

 private:
  struct Names {
    StageId stage;
    QueueId queue;
  };

  Result<StagePtr> Make(size_t node, StagePtr input);
  Result<StagePtr> MakeSource(const Node& node);
  Result<StagePtr> MakeMap(const Node& node, StagePtr input);
  Result<StagePtr> MakeBatch(const Node& node, StagePtr input);
  Result<StagePtr> MakeStore(size_t node, StagePtr input);
  Result<StagePtr> MakeFilter(const Node& node, StagePtr input);
  StagePtr MakePrefetch(const Node& node, StagePtr input);
  StagePtr MakeShuffle(const Node& node, StagePtr input);
  StagePtr MakeWorkers(const std::string& name, Names names, StagePtr input,
                       std::unique_ptr<const Runner> runner, const Knob& parallelism, bool ordered);

  // Defines a stage behind the one defined last. Without a capacity it has no queue.
  Names Define(const std::string& name, std::string_view kind, uint32_t workers, bool ordered,
               uint64_t capacity);
  QueueId DefineInputLock(const std::string& name);
  // The ops of a node's pieces; all pieces but the last are defined as stages without a queue.
  Result<std::vector<MapPart>> MakeParts(const Node& node, uint32_t workers);
  // The last snapshot or cache that is complete, which is then in sealed_; 0 where none is.
  size_t FindSealed();
  std::string StorePath(size_t node) const;     // as the spec names it; empty: it has no name
  std::string NewStorePath(size_t node) const;  // where one is written
  std::string StoreKey(size_t node) const;

  Graph& graph_;
  const uint64_t seed_;
  const int64_t cores_;
  const std::string stores_;
  StageContext& context_;
  std::shared_ptr<ReaderShared> shared_;
  StageId last_;
  std::unique_ptr<ElementStore> sealed_;
  std::string sealed_path_;
  std::vector<Tunable> tunables_;
};

}  // namespace stallscope::pipeline

#endif  // STALLSCOPE_COLLECTORS_PIPELINE_BUILDER_H_
