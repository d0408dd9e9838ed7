#include "replay/sweep/grid.h"

#include <algorithm>
#include <set>

#include "analyzer/spec/knobs.h"
#include "analyzer/spec/nearest.h"

namespace stallscope::replay {
namespace {

// At commas that stand in no bracket and in no quotes.
std::vector<std::string> SplitValues(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      values.back() += c;
      values.back() += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{' || c == '(')) ++depth;
    if (!quoted && (c == ']' || c == '}' || c == ')')) --depth;
    if (c == ',' && depth == 0 && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

Error Empty(const std::string& what) {
  return {ErrorKind::kUsage, what, "--vary",
          "write PATH=V1,V2,..., such as decode.parallelism=1,2,4"};
}

}  // namespace

Result<Axis> ParseAxis(std::string_view text, const Spec& spec) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return Empty(Quoted(text) + " has no values");
  Axis axis;
  axis.path = std::string(text.substr(0, equals));
  // Names the nearest path where there is no such one.
  STALLSCOPE_RETURN_IF_ERROR(GetKnob(spec, axis.path));
  if (equals + 1 == text.size()) return Empty(Quoted(text) + " is an empty grid");
  for (std::string& value : SplitValues(text.substr(equals + 1))) {
    if (value.empty()) return Empty(Quoted(text) + " has an empty value");
    Spec scratch = spec;
    STALLSCOPE_RETURN_IF_ERROR(SetKnob(scratch, axis.path, value));
    // As the knob itself says it: 4 and 04 are the same point.
    STALLSCOPE_ASSIGN_OR_RETURN(std::string said, GetKnob(scratch, axis.path));
    if (std::find(axis.values.begin(), axis.values.end(), said) != axis.values.end()) {
      return Error{ErrorKind::kUsage, axis.path + " has the value " + Quoted(said) + " twice",
                   "--vary", "list each value once"};
    }
    axis.values.push_back(std::move(said));
  }
  return axis;
}

Result<std::vector<Axis>> ParseGrid(const std::vector<std::string>& texts, const Spec& spec) {
  std::vector<Axis> axes;
  std::set<std::string> paths;
  uint64_t points = 1;
  for (const std::string& text : texts) {
    STALLSCOPE_ASSIGN_OR_RETURN(Axis axis, ParseAxis(text, spec));
    if (!paths.insert(axis.path).second) {
      return Error{ErrorKind::kUsage, axis.path + " is varied twice", "--vary",
                   "list all its values in one --vary"};
    }
    points *= axis.values.size();
    if (points > kMostPoints) {
      return Error{ErrorKind::kUsage,
                   "the grid has more than " + std::to_string(kMostPoints) + " points", "--vary",
                   "list fewer values, or let stallscope tune find the best"};
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

uint64_t CountPoints(const std::vector<Axis>& axes) {
  uint64_t points = 1;
  for (const Axis& axis : axes) points *= axis.values.size();
  return axes.empty() ? 0 : points;
}

std::vector<Setting> PointOfGrid(const std::vector<Axis>& axes, uint64_t index) {
  std::vector<Setting> settings(axes.size());
  for (size_t i = axes.size(); i > 0; --i) {
    const Axis& axis = axes[i - 1];
    settings[i - 1] = {axis.path, axis.values[index % axis.values.size()]};
    index /= axis.values.size();
  }
  return settings;
}

}  // namespace stallscope::replay
