// What the threads of an imported run, or of a job, did, by the names that their framework gives
// its operations: decoding, resizing, calls into Python. Private to the room; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/findings.h"

namespace stallscope::findings {

enum class OpFamily : uint8_t {
  kDecode,
  kResize,
  kPython,
  kReadFile,   // a file for each element
  kParseText,  // a line of CSV
  kHdf5,
};

struct NamedOp {
  std::string name;    // of the one that takes longest: "DecodeJpeg"
  uint64_t count = 0;  // of the family, in the window
  int64_t ns = 0;
};

// Nothing if the run has no such operation, or no framework wrote names of its own.
std::optional<NamedOp> OpsOfFamily(const Case& c, OpFamily family);

// The part of the work of this stage and those that work beside it that is this operation: 0 to 1.
double PartOfWork(const Case& c, const NamedOp& op);

// Of the maps and PyTorch's loaders, the one whose work steps wait for most; None without any.
StageId BusiestForWork(const Case& c);

// A source that is a generator in Python, or a map that calls Python for each element: one at a
// time, however many workers it has.
bool CallsPython(const Case& c, StageId stage);

}  // namespace stallscope::findings
