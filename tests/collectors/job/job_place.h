// Jobs that run and are recorded by job_runner, each in a place of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/run.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

namespace stallscope::test {

// A job of our own: its arguments are what it does (job_program.cpp).
extern const std::string kJobProgram;

// A trace, and sessions that other tests do not look into.
struct JobPlace {
  ScratchDir dir;
  ScratchDir sessions;
  std::string trace = dir / "run.sst";

  ProgramResult Run(const std::vector<std::string>& command,
                    const std::vector<std::string>& options = {},
                    const std::vector<std::string>& environment = {}) const;
  ProgramResult RunOurs(std::vector<std::string> actions,
                        const std::vector<std::string>& options = {}) const;
  // The same of kJobProgram, without waiting for it.
  pid_t Start(std::vector<std::string> actions) const;
  // Leads a process group of its own, and is silent.
  pid_t StartGroup(const std::vector<std::string>& command) const;

  model::Run Load() const;
  // Not even a hidden file.
  bool NothingLeft() const;

 private:
  std::vector<std::string> Recorded(const std::vector<std::string>& command,
                                    const std::vector<std::string>& options = {}) const;
};

// What a process that was started ended with, as waitpid() has it.
int StatusOf(pid_t started);
// The process of kJobProgram that this runner started; 0: none.
pid_t JobOf(pid_t runner);
// How many spans the job has written into its file of progress.
uint64_t DoneIn(const std::string& path);
void WaitUntil(const std::function<bool()>& done);

// All spans of that stage, of every track.
uint64_t SpansOf(const model::Run& run, std::string_view stage);

}  // namespace stallscope::test
