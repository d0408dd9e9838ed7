// The grid of --vary PATH=V1,V2,...: every combination of the values of several knobs. Errors are
// ErrorKind::kUsage; one of a path names the nearest path. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"

namespace stallscope::replay {

// A knob and a value for it, both as SetKnob (analyzer/spec/knobs.h) takes them.
struct Setting {
  std::string path;
  std::string value;
  bool operator==(const Setting&) const = default;
};

// One knob with the values that it takes in turn.
struct Axis {
  std::string path;
  std::vector<std::string> values;
  bool operator==(const Axis&) const = default;
};

// More points than this are hardly intended: the user must confirm.
constexpr uint64_t kManyPoints = 10'000;
// And with more than this no sweep file could be kept.
constexpr uint64_t kMostPoints = 2'000'000;

// "decode.parallelism=1,2,4". Commas inside brackets and quotes belong to a value. Path and values
// are checked against the spec, each value separately.
Result<Axis> ParseAxis(std::string_view text, const Spec& spec);

// The axes of several --vary; the same path twice is an error, and so is a grid of more than
// kMostPoints.
Result<std::vector<Axis>> ParseGrid(const std::vector<std::string>& texts, const Spec& spec);

uint64_t CountPoints(const std::vector<Axis>& axes);
// The last axis changes fastest. Below CountPoints.
std::vector<Setting> PointOfGrid(const std::vector<Axis>& axes, uint64_t index);

}  // namespace stallscope::replay
