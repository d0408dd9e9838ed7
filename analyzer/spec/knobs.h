// The settings of a spec by name: `decode.parallelism`, `transfer.pinned`, `trainer.model.width`,
// `rewrites.map_fusion`, `budget.cores`, `seed`. The same paths everywhere: --set, --vary, patches,
// the desktop program, reports.
//
// Texts are what a user types: numbers, true and false, words, "auto"; lists and tables as JSON.
// Errors are ErrorKind::kUsage, and one of a path names the nearest path. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"

namespace stallscope {

// kList: a list of texts. kTable: texts by name.
enum class KnobType { kInteger, kNumber, kBoolean, kWord, kText, kList, kTable };

struct KnobRange {
  double min = 0;
  double max = 0;
};

struct KnobInfo {
  std::string path;
  KnobType type = KnobType::kText;
  std::optional<KnobRange> range;  // numbers have one, both ends included
  std::vector<std::string> words;  // kWord: all that are allowed
  bool tunable = false;            // may be "auto"
  bool required = false;           // has no default
  std::string value;               // as SetKnob takes it
  std::string default_value;
  std::string doc;
};

// Every path of this spec, in the order in which the spec is written.
std::vector<KnobInfo> ListKnobs(const Spec& spec);

// The current value; SetKnob(path, GetKnob(path)) changes nothing.
Result<std::string> GetKnob(const Spec& spec, std::string_view path);

// Checks the value itself (type, range, words), not whether the whole spec still makes sense:
// several settings may only make sense together. Call Validate after the last one.
Status SetKnob(Spec& spec, std::string_view path, std::string_view text);

// "PATH=VALUE" in turn, then Validate.
Result<Spec> ApplySettings(Spec spec, const std::vector<std::string>& settings);

}  // namespace stallscope
