// A case for rules, put together by hand: a run, what an attribution would say of it, a verdict and
// the spec. It begins as a run that nothing is wrong with; a test then spoils what it is about.
//
// The figures hang together, so that the capacity law finds what it expects: a stage that is blamed
// is busy all the time, and the device's categories add up to the step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/findings.h"

namespace stallscope::test {

class CaseBuilder {
 public:
  static constexpr int64_t kStepNs = 10'000'000;
  static constexpr int64_t kSteps = 100;
  static constexpr int64_t kBatch = 32;

  // Images through decode, augment, batch and prefetch to a CUDA device, everything set well.
  CaseBuilder();

  Spec spec;
  model::Run run;
  attribution::Attribution attribution;
  findings::Verdict verdict;
  bool with_spec = true;

  // Tables of the run that follow the spec; anew after stages were added or taken away.
  void TakeStagesFromSpec();
  template <class Kind>
  Kind& SpecOf(std::string_view name) {
    return std::get<Kind>(StageSpecOf(name).kind);
  }
  StageSpec& StageSpecOf(std::string_view name);
  StageId IdOf(std::string_view name) const;
  attribution::StageUse& UseOf(std::string_view name);

  // A part of step time, taken from computing. The verdict follows.
  void Spend(attribution::Category category, double share, findings::Bound bound);
  // So much of it is a stall of this stage, whose workers are busy all the time.
  void Stall(std::string_view stage, attribution::Cause cause, double share);
  // Elements as a source reads them, `files` in turn.
  void ReadElements(size_t count, size_t files, uint64_t bytes, size_t epochs = 1);
  void CopyBatches(trace::CopyMemory memory, uint64_t bytes, size_t a_step = 1);
  void GrowMemory(double bytes);  // in the window
  trace::StringId Intern(std::string text);

  std::vector<findings::Finding> Find(bool price = true, const findings::Pricer& pricer = {}) const;
  // The finding of this id, if it is there.
  std::optional<findings::Finding> FindingOf(std::string_view id) const;

 private:
  void AddTrainerAndThreads();
};

}  // namespace stallscope::test
