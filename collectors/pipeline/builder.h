// Makes running stages of a plan and defines them in the recording. Private to the room.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyzer/plan/plan.h"
#include "collectors/pipeline/element_store.h"
#include "collectors/pipeline/order_stages.h"
#include "collectors/pipeline/pipeline.h"
#include "collectors/pipeline/reader.h"
#include "collectors/pipeline/runner.h"
#include "collectors/pipeline/tuner.h"
#include "collectors/pipeline/worker_stage.h"

namespace stallscope::pipeline {

class PipelineBuilder {
 public:
  // `files` of each source. `stores` is PipelineOptions::stores.
  PipelineBuilder(const plan::Graph& graph, std::vector<SourceFiles> files, uint64_t seed,
                  int64_t cores, std::string stores, StageContext& context);

  // The last stage; its threads run already.
  Result<StagePtr> Build();
  // Those of the plan, with their numbers in the recording.
  std::vector<DeviceMap> TakeDeviceMaps() { return std::move(device_maps_); }
  std::vector<Tunable> TakeTunables() { return std::move(tunables_); }

 private:
  struct Names {
    StageId stage;
    QueueId queue;
  };

  Result<StagePtr> Make(size_t node, StagePtr input);
  Result<StagePtr> MakeSource(size_t node, StagePtr input);
  // Without those before it.
  StagePtr MakeOneSource(const plan::Node& node, const std::shared_ptr<ReaderShared>& shared);
  Result<StagePtr> MakeMap(const plan::Node& node, StagePtr input);
  Result<StagePtr> MakeBatch(const plan::Node& node, StagePtr input);
  Result<StagePtr> MakeStore(size_t node, StagePtr input);
  Result<StagePtr> MakeFilter(const plan::Node& node, StagePtr input);
  StagePtr MakePrefetch(const plan::Node& node, StagePtr input);
  StagePtr MakeShuffle(const plan::Node& node, StagePtr input);
  StagePtr MakeBucketByLength(const plan::Node& node, StagePtr input);
  // Does a node's work in the threads that the plan gives it: its own, or the one that asks.
  StagePtr MakeWorkers(const plan::Node& node, const std::string& name, Names names, StagePtr input,
                       std::unique_ptr<const Runner> runner);

  // The zipped inputs so far and the last one, `input`, as one; `input` itself where there are
  // none.
  StagePtr MakeZip(StagePtr input);
  void EndInput(StagePtr input);

  // Defines a stage behind the one defined last; behind all inputs, if they are zipped and it is
  // the first that is no source.
  // `files` are those of a source.
  Names Define(const plan::RecordedStage& stage, size_t files = 0);
  // All stages of a node; the last one has the queue.
  std::vector<Names> Define(const plan::Node& node);
  QueueId DefineInputLock(const std::string& name);
  // The ops of a node's pieces, each with its stage.
  Result<std::vector<MapPart>> MakeParts(const plan::Node& node, const std::vector<Names>& names);
  // The last snapshot or cache that is complete, which is then in sealed_; 0 where none is.
  size_t FindSealed();
  std::string StorePath(size_t node) const;     // as the spec names it; empty: it has no name
  std::string NewStorePath(size_t node) const;  // where one is written
  std::string StoreKey(size_t node) const;

  const plan::Graph& graph_;
  const uint64_t seed_;
  const int64_t cores_;
  const std::string stores_;
  StageContext& context_;
  const std::string fingerprint_;                       // of all files
  std::vector<std::shared_ptr<ReaderShared>> sources_;  // by their nodes
  // The last stage; with zipped sources, that of each input.
  std::vector<StageId> last_;
  std::vector<ZipInput> zipped_;  // all inputs but the last
  std::string input_name_;        // of the last
  std::unique_ptr<ElementStore> sealed_;
  std::string sealed_path_;
  std::vector<DeviceMap> device_maps_;
  std::vector<Tunable> tunables_;
};

}  // namespace stallscope::pipeline
