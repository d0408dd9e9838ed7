// What the commands that replay share: where their runs are made, and what they are asked with. One
// thread.
#ifndef STALLSCOPE_ANALYZER_CLI_REPLAY_BENCH_H_
#define STALLSCOPE_ANALYZER_CLI_REPLAY_BENCH_H_

#include <string>

#include "analyzer/base/folders.h"
#include "analyzer/base/result.h"
#include "replay/rerun/recorded_inputs.h"
#include "replay/sweep/bench.h"

namespace stallscope::cli {

// Runs are recordings by this program in processes of their own.
class ReplayBench {
 public:
  static Result<ReplayBench> Make(replay::PageCache page_cache);
  replay::Bench& bench() { return bench_; }

 private:
  ReplayBench(ScratchFolder folder, replay::RerunOptions options)
      : folder_(std::move(folder)), bench_(std::move(options)) {}
  ScratchFolder folder_;
  replay::LiveBench bench_;
};

// Asks on the terminal; no where there is none to ask on.
bool AskedYes(const std::string& question);

// Asks where a re-run needs a yes (kUsage where the user does not say it; `yes` says it
// beforehand), checks the data, and prints what the re-run reads, runs and writes.
Status AgreeToRerun(const replay::RerunPlan& plan, const model::Run& run, const std::string& output,
                    bool yes);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_REPLAY_BENCH_H_
