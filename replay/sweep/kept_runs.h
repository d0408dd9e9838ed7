// Runs whose traces stay in a folder of the user's: whoever asks for the same ones again gets those
// that are there, and only the others are made. So a long search can be stopped and started again.
#pragma once

#include <map>
#include <string>

#include "analyzer/base/result.h"
#include "replay/sweep/bench.h"

namespace stallscope::replay {

// One thread.
class KeptRuns final : public Bench {
 public:
  // `folder` must exist. `subject`: what is run, besides its settings: runs of another one are not
  // these. `bench` must outlive the object.
  KeptRuns(std::string folder, std::string subject, Bench& bench)
      : folder_(std::move(folder)), subject_(std::move(subject)), bench_(bench) {}

  // The n-th call for a configuration is its n-th run. One that fails is not kept.
  Result<Outcome> Measure(const Spec& spec, const RunWish& wish) override;
  unsigned found() const { return found_; }  // that were not made again

 private:
  std::string folder_;
  std::string subject_;
  Bench& bench_;
  std::map<std::string, int> asked_;  // by the file's stem
  unsigned found_ = 0;
};

}  // namespace stallscope::replay
