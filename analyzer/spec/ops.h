// Ops are written as calls: `resize(64)`, `decode_jpeg(scale=1/2, crop=true)`, `flip`. This is the
// table of the known ones, and the reader of a call.
//
// Whoever runs an op asks ParseOp once, before the run, and never looks at the text again. The
// table lives as long as the program. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope {

struct MapSpec;

// kEighths: a fraction such as 1/2, kept as the number of eighths (libjpeg-turbo scales so).
enum class OpArgumentType { kInteger, kNumber, kFlag, kWord, kEighths };

struct OpParameter {
  std::string_view name;
  OpArgumentType type;
  double min;  // kInteger, kNumber, kEighths
  double max;
  std::string_view words;         // kWord: those allowed, with spaces between
  std::string_view default_text;  // empty: must be given
};

// Where an op may stand. kEither: in a map, and in a filter, where it keeps every element.
enum class OpRole { kMap, kFilter, kEither };

struct OpInfo {
  std::string_view name;
  OpRole role;
  bool on_device;  // can run on the device as well as on the host
  bool random;     // gives another result for the same element in another epoch
  bool batched;    // works on a whole batch in place, without splitting it
  std::span<const OpParameter> parameters;
  std::string_view doc;
};

std::span<const OpInfo> KnownOps();
// Null where it is not known.
const OpInfo* FindOp(std::string_view name);

// A call with every argument: those that the text leaves out have their defaults.
struct OpCall {
  const OpInfo* op = nullptr;                                               // in the table
  std::vector<std::variant<int64_t, double, bool, std::string>> arguments;  // as op->parameters

  std::string_view name() const { return op->name; }
  // By the parameter's name, which must be in the table and have that type.
  int64_t Integer(std::string_view parameter) const;  // kInteger, kEighths
  double Number(std::string_view parameter) const;
  bool Flag(std::string_view parameter) const;
  const std::string& Word(std::string_view parameter) const;

  // The shortest text that means the same.
  std::string Text() const;
  bool operator==(const OpCall&) const = default;
};

// An error is ErrorKind::kUsage, and `where` is the text.
Result<OpCall> ParseOp(std::string_view text);

// --- What rewrites and rules ask of ops ---

// Calls of a valid spec always parse; one that does not is dropped.
std::vector<OpCall> OpsOf(const MapSpec& map);
// Some op of it gives another result for the same element in another epoch.
bool IsRandom(const MapSpec& map);

bool IsDecode(const OpCall& op);
// Decodes pixels that a crop behind it may throw away.
bool IsWholeDecode(const OpCall& op);
bool IsCrop(const OpCall& op);
// Makes all elements the same size.
bool MakesOneSize(const OpCall& op);
// Widens bytes.
bool Widens(const OpCall& op);
// busy, sleep: its call is its cost.
bool StatesItsCost(const OpCall& op);
// Moves values and computes nothing.
bool MovesOnly(const OpCall& op);
// Treats single values, and so could treat a whole batch.
bool IsPerValue(const OpCall& op);
// Can write its result straight to where a batch has it.
bool WritesInPlace(const OpCall& op);
// An op that can be dropped without changing a bit, because of its neighbor: normalize computes in
// float32 whatever its input, and returns float32; the same cast twice is one; bytes have the same
// values in another type with or without a detour through a wider one; an image that has a size
// need not be resized or cropped to it.
struct IdleOp {
  size_t op = 0;
  size_t beside = 0;
};
// The first such op; nothing if all are needed.
std::optional<IdleOp> FindIdleOp(const std::vector<OpCall>& ops);
// Two neighbors whose constants fold into those of one op: a scale, and the scale or the normalize
// after it. Only where no bit of any value changes: the first multiplies by a power of two, or both
// are known to give the same for each of the 256 bytes.
struct FoldedPair {
  size_t first = 0;
  OpCall as;  // in place of both
};
// The first such pair; nothing if there is none.
std::optional<FoldedPair> FindFoldedPair(const std::vector<OpCall>& ops);

}  // namespace stallscope
