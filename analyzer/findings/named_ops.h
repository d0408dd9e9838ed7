// The operations of an imported run or a job, recognized by the names that the framework gives
// them: decoding, resizing, calls into Python. Private to the room; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/findings/findings.h"

namespace stallscope::findings {

enum class OpFamily : uint8_t {
  kDecode,
  kResize,
  kPython,
  kReadFile,   // a file for each element
  kParseText,  // a line of CSV
  kHdf5,
  kRandom,
  kCrop,
  kCast,
  kMove,  // of values that stay as they are
  // Of the trainer:
  kScaleUpdate,    // of a loss scale, after each step
  kOptimizerStep,  // left out where a gradient overflowed
  kReadValue,      // a number that the host reads from a tensor
  kStreamSync,     // the host waits for the device
};

struct NamedOp {
  std::string name;    // the slowest one: "DecodeJpeg"
  uint64_t count = 0;  // of the family, in the window; of the trainer's, in that of the devices
  int64_t ns = 0;
};

// By the name that the framework gives an operation: "map/DecodeJpeg:DecodeJpeg".
bool IsOfFamily(std::string_view name, OpFamily family);
// "DecodeJpeg" of it.
std::string ShortName(std::string_view name);

// Nothing if the run has no such operation, or no framework wrote its names.
std::optional<NamedOp> OpsOfFamily(const Case& c, OpFamily family);

// The share of this operation in the work of its stage and those that work beside it: 0 to 1.
double PartOfWork(const Case& c, const NamedOp& op);

// Of the maps and PyTorch's loaders, the one whose work steps wait for most; None without any.
StageId BusiestForWork(const Case& c);

// True for a source that is a Python generator, or a map that calls Python for each element: it
// works on one element at a time, however many workers it has.
bool CallsPython(const Case& c, StageId stage);

}  // namespace stallscope::findings
