// Turns a change of a job's settings into a change of the user's own source: the lines of the calls
// that construct its loaders, before and after, and a unified diff.
//
// It is made from the trace alone (the call's place, its lines as recorded, its constructor's
// parameters), without access to the file, which may have changed: compare before writing. Changes
// that would need guessing are described in words instead. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/changed_lines.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/patch.h"

namespace stallscope::findings {

// How far a call reaches from the line it begins at. Lines and columns count from 1, columns in
// UTF-16 code units; the end is after the call. 0: unknown.
struct CodeExtent {
  uint32_t column = 0;
  uint32_t end_line = 0;
  uint32_t end_column = 0;
  bool operator==(const CodeExtent&) const = default;
};
// Of the call that constructs a loader: the columns only if the trace has its lines.
CodeExtent ExtentOf(const trace::CallSite& call);

struct SourceChange {
  std::string file;                 // as recorded: an absolute path
  uint32_t line = 0;                // of the first call
  std::vector<ChangedLines> lines;  // from top to bottom
  // For `patch -p1` in the root of the checkout, or in the job's folder if there is none; empty
  // without lines.
  std::string diff;
  std::vector<std::string> by_hand;  // what to set elsewhere, or what no diff can set
  CodeExtent extent = {};            // of the first call
};

// One per file, in the order of the patch. None if the run is no job, or if the patch changes none
// of its loaders.
std::vector<SourceChange> SourceChangesOf(const model::Run& run, const Patch& patch);

// The diff of all files together.
std::string DiffOf(const std::vector<SourceChange>& changes);

// A setting as Python: True, 4, "spawn". Strings get the source's style of quotes.
std::string PythonOf(std::string_view json, std::string_view source = {});

}  // namespace stallscope::findings
