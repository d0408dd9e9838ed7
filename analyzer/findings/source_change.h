// What a change of a job's settings is in the user's own source: the lines of the calls that
// construct its loaders, before and after, and a unified diff of them.
//
// Made from what the trace has: the call's place, its lines as they were, what its constructor
// takes. So it needs no access to the file, and it may be out of date: whoever writes it has to
// compare first. What cannot be written without guessing is said in words instead. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/changed_lines.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/patch.h"

namespace stallscope::findings {

struct SourceChange {
  std::string file;                 // as recorded: an absolute path
  uint32_t line = 0;                // of the first call
  std::vector<ChangedLines> lines;  // from above to below
  // For `patch -p1` in the root of the checkout, or in the job's folder where there is none; empty
  // where there are no lines.
  std::string diff;
  std::vector<std::string> by_hand;  // what has to be set elsewhere, or cannot be set by a diff
};

// One per file, in the order of the patch. None for a run that is no job, or for a patch that sets
// nothing of its loaders.
std::vector<SourceChange> SourceChangesOf(const model::Run& run, const Patch& patch);

// Of all files together.
std::string DiffOf(const std::vector<SourceChange>& changes);

// A setting as Python: True, 4, "spawn". Text is quoted as the source does it.
std::string PythonOf(std::string_view json, std::string_view source = {});

}  // namespace stallscope::findings
