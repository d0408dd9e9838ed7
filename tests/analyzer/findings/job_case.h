// A recorded job as a case: its loader's stage is `decode`.
#pragma once

#include <string>

#include "tests/analyzer/findings/case_builder.h"

namespace stallscope::test {

// The case's decode is what the worker processes of a recorded job do.
inline void MakeJob(CaseBuilder& b, attribution::Cause cause, double share = 0.5) {
  b.run.info.job.command = {"python", "train.py"};
  b.run.loaders.resize(1);
  b.run.loaders[0].name = "loader";
  b.run.loaders[0].info.settings_json = R"({"num_workers":2,"prefetch_factor":2,"in_order":true})";
  trace::StageInfo& stage = b.run.stages[b.IdOf("decode").value];
  stage.loader = LoaderId{0};
  stage.kind = "map";
  b.with_spec = false;
  b.Stall("decode", cause, share);
}

// Each of which is left before the loader has given all of its batches, if it has one step.
inline void MakePasses(CaseBuilder& b, int passes, int steps_each, int64_t pass_ns) {
  std::string& settings = b.run.loaders[0].info.settings_json;
  if (steps_each == 1) settings.insert(1, R"("left_early":true,)");
  b.run.rows.steps.clear();
  for (int i = 0; i < passes * steps_each; ++i) {
    trace::Step& step = b.run.rows.steps.emplace_back();
    const auto pass = static_cast<uint64_t>(i / steps_each);
    step.batch.value = pass << 32U | static_cast<uint64_t>(i % steps_each);
    step.requested_ns = i / steps_each * pass_ns + i % steps_each;
  }
}

// Without workers, the trainer's own thread loads.
inline void RunInTrainer(CaseBuilder& b) {
  const StageId decode = b.IdOf("decode");
  for (auto& track : b.run.tracks) {
    if (track.info.stage == decode) track.info.stage = b.IdOf("trainer");
  }
  for (auto& use : b.attribution.stages) {
    if (use.runs_in == decode) use.runs_in = b.IdOf("trainer");
  }
}

inline void AddOps(CaseBuilder& b, double share) {
  attribution::StageUse& use = b.UseOf("decode");
  const auto ns = static_cast<int64_t>(share * static_cast<double>(use.busy_ns));
  use.sampled_ns = use.busy_ns;
  use.ops = {{"Resize", "/home/u/train.py", 12, 100, ns, ns}};
}

}  // namespace stallscope::test
