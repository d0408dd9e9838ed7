// What a view draws: the session's state and the models of the panels, all immutable. A view is a
// function void Draw(const Snapshot&, session::Intents&).
#pragma once

#include <memory>

#include "gui/session/intents.h"
#include "gui/session/state.h"
#include "gui/viewmodel/compare.h"
#include "gui/viewmodel/findings.h"
#include "gui/viewmodel/overview.h"
#include "gui/viewmodel/pipeline.h"
#include "gui/viewmodel/record.h"
#include "gui/viewmodel/run_facts.h"
#include "gui/viewmodel/spans.h"
#include "gui/viewmodel/stalls.h"
#include "gui/viewmodel/steps.h"
#include "gui/viewmodel/sweep.h"
#include "gui/viewmodel/timeline.h"

namespace stallscope::viewmodel {

// `state` is never null. The model of the visible panel is set unless the run is not ready for it;
// the other models may be null or from an earlier state.
struct Snapshot {
  std::shared_ptr<const session::State> state;
  std::shared_ptr<const OverviewModel> overview;
  std::shared_ptr<const TimelineModel> timeline;
  std::shared_ptr<const PipelineModel> pipeline;
  std::shared_ptr<const StallsModel> stalls;
  std::shared_ptr<const StepsModel> steps;
  std::shared_ptr<const FindingsModel> findings;
  std::shared_ptr<const SweepModel> sweep;
  std::shared_ptr<const CompareModel> compare;
  std::shared_ptr<const RecordModel> record;
  std::shared_ptr<const SpansModel> spans;
  std::shared_ptr<const RunFacts> run;
};

// Makes the snapshot of a state, reusing what did not change since the last one. Only on the
// drawing thread.
class Composer {
 public:
  explicit Composer(unsigned threads = 2) : timeline_(threads) {}

  // Valid until the next call.
  const Snapshot& Compose(std::shared_ptr<const session::State> state);

 private:
  // Builds only the visible panel.
  void Build(const session::State& state);

  TimelineBuilder timeline_;
  Snapshot snapshot_;
};

}  // namespace stallscope::viewmodel
