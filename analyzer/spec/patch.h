// A change of a spec as data: what a recommendation proposes, a sweep varies, a comparison finds.
//
//   [ {"op": "set", "path": "decode.parallelism", "value": 4},
//     {"op": "insert", "after": "decode", "stage": {"name": "cache", "cache": {}}},
//     {"op": "remove", "stage": "shuffle"},
//     {"op": "move", "stage": "shuffle", "before": "decode"} ]
//
// A patch of one change may stand without the brackets. Changes are made in their order; only the
// outcome must be a valid spec. A place is "after" or "before" a stage; "after": null is the start.
// Errors are ErrorKind::kUsage. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "analyzer/spec/spec_json.h"

namespace stallscope {

struct Place {
  enum class Kind { kStart, kAfter, kBefore };
  Kind kind = Kind::kStart;
  std::string stage;  // not for kStart

  static Place Start() { return {}; }
  static Place After(std::string stage) { return {Kind::kAfter, std::move(stage)}; }
  static Place Before(std::string stage) { return {Kind::kBefore, std::move(stage)}; }
  bool operator==(const Place&) const = default;
};

struct SetChange {
  std::string path;
  std::string value;  // JSON text: 4, true, "captured", ["flip"]
  bool operator==(const SetChange&) const = default;
};
struct InsertChange {
  StageSpec stage;
  Place place;
  bool operator==(const InsertChange&) const = default;
};
struct RemoveChange {
  std::string stage;
  bool operator==(const RemoveChange&) const = default;
};
struct MoveChange {
  std::string stage;
  Place place;
  bool operator==(const MoveChange&) const = default;
};

struct Patch {
  std::vector<std::variant<SetChange, InsertChange, RemoveChange, MoveChange>> changes;
  bool operator==(const Patch&) const = default;
};

// A set with its value put into JSON; text may be a word, "auto" included.
SetChange SetTo(std::string path, int64_t value);
SetChange SetTo(std::string path, int value);
SetChange SetTo(std::string path, double value);
SetChange SetTo(std::string path, bool value);
SetChange SetTo(std::string path, std::string_view text);
SetChange SetTo(std::string path, const char* text);
SetChange SetTo(std::string path, Knob value);

// Checks the patch's own form; whether its paths and stages exist shows when it is applied.
Result<Patch> ReadPatch(std::string_view text, const std::string& name);
Result<Patch> ReadPatchFile(const std::string& path);
std::string WritePatch(const Patch& patch, JsonLayout layout = JsonLayout::kIndented);

// The changed spec, which is valid.
Result<Spec> Apply(Spec spec, const Patch& patch);

// Apply(from, Diff(from, to)) == to for valid specs. Stages are the same where name and kind are.
Patch Diff(const Spec& from, const Spec& to);

}  // namespace stallscope
