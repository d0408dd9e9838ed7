#include "analyzer/budget/metric.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "analyzer/report/json.h"
#include "analyzer/spec/nearest.h"

namespace stallscope::budget {
namespace {

using report::Json;
using report::ReportTree;

// The end of the row that begins after the bracket at `open`: a closing bracket at which the path
// continues or ends, because kernel names have brackets too.
size_t EndOfRow(std::string_view text, size_t open) {
  size_t depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && depth > 0) --depth;
    const bool over = i + 1 == text.size() || text[i + 1] == '.';
    if (text[i] == ']' && depth == 0 && over) return i;
  }
  return std::string_view::npos;
}

// The pattern with the metric's own rows in its brackets.
std::string WithRows(const std::string& pattern, const Metric& metric) {
  std::string text;
  size_t row = 0;
  std::vector<std::string> rows;
  for (const auto& step : metric.steps) {
    if (step.row.has_value()) rows.push_back(*step.row);
  }
  for (const char c : pattern) {
    text += c;
    if (c == '[') text += row < rows.size() ? rows[row++] : "NAME";
  }
  return text;
}

bool Matches(const Json& row, std::string_view key, const std::string& wanted) {
  const Json& value = row.at(std::string(key));
  if (value.is_number()) return value.dump() == wanted;
  if (!value.is_string()) return false;
  const std::string text = value.get<std::string>();
  // Blame can also be asked for by stage and cause, as the verdict writes it.
  if (key == "stage" && row.contains("cause")) {
    return wanted == text || wanted == text + " (" + row.at("cause").get<std::string>() + ")";
  }
  return text == wanted;
}

std::vector<std::string> NamesIn(const Json& list, std::string_view key) {
  std::vector<std::string> names;
  for (const Json& row : list) {
    const Json& value = row.at(std::string(key));
    names.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return names;
}

std::string NoRow(const std::string& list, const std::string& row,
                  const std::vector<std::string>& names) {
  std::string text = "the run has no " + list + "[" + row + "]";
  const std::string nearest = Near(row, names);
  if (!nearest.empty()) text += ", the nearest is " + Quoted(nearest);
  return text;
}

// A stage that exists but is not in the blame was blamed for nothing.
bool BlamedForNothing(const Json& tree, const Metric::Step& step) {
  if (step.key != "stall_blame" || tree.at("breakdown").at("input_stall").is_null()) return false;
  const std::string& row = *step.row;
  const std::string stage = row.ends_with(")") ? row.substr(0, row.rfind(" (")) : row;
  const auto names = NamesIn(tree.at("stages"), "name");
  return std::find(names.begin(), names.end(), stage) != names.end();
}

double ValueOf(const Json& value) {
  return value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
}

// The limit that names the figure, or what it is a part of.
std::string WhyMissing(const Json& tree, const Metric& metric) {
  std::string path = metric.Pattern();
  const std::string category = path.starts_with("breakdown.") ? metric.steps.at(1).key + ":" : "";
  while (true) {
    for (const Json& limit : tree.at("trust").at("limits")) {
      const std::string text = limit.get<std::string>();
      const bool of_category = !category.empty() && text.starts_with(category);
      if (of_category || text.find(path) != std::string::npos) return text;
    }
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos) return "the run lacks it";
    path.resize(dot);
  }
}

// The objects that have the metric's last key; none if something on the way there is missing:
// `figure` then says what.
std::vector<const Json*> RowsWithFigure(const Json& tree, const Metric& metric, Figure& figure) {
  std::vector<const Json*> places{&tree};
  std::string pattern;
  for (size_t i = 0; i + 1 < metric.steps.size(); ++i) {
    const Metric::Step& step = metric.steps[i];
    pattern += (pattern.empty() ? "" : ".") + step.key;
    // Only the last list on a path can have given several rows, and no list is below it.
    const Json& value = places.front()->at(step.key);
    places.clear();
    if (value.is_null()) {
      figure.missing = WhyMissing(tree, metric);
      return places;
    }
    if (!step.row.has_value()) {
      places.push_back(&value);
      continue;
    }
    const std::string_view key = *RowKeyOf(pattern);
    for (const Json& row : value) {
      if (Matches(row, key, *step.row)) places.push_back(&row);
    }
    if (places.empty()) {
      if (BlamedForNothing(tree, step)) {
        figure.value = 0;
      } else {
        figure.missing = NoRow(pattern, *step.row, NamesIn(value, key));
      }
      return places;
    }
    // Blame has one row per cause, copies one per kind of memory: they add up. Others are unique.
    if (pattern != "stall_blame" && pattern != "devices[].copies") places.resize(1);
    pattern += "[]";
  }
  return places;
}

Figure FigureAt(const Json& tree, const Metric& metric) {
  Figure figure;
  const std::vector<const Json*> rows = RowsWithFigure(tree, metric, figure);
  if (rows.empty()) return figure;
  const std::string& key = metric.steps.back().key;
  double sum = 0;
  for (const Json* row : rows) {
    if (row->at(key).is_null()) return {{}, {}, {}, false, WhyMissing(tree, metric)};
    sum += ValueOf(row->at(key));
  }
  figure.value = sum;
  // `low` and `high` are of the figure that the contract puts in front of them.
  const bool has_bounds = key == "fraction" || key == "samples_per_s" || key == "predicted";
  const Json& row = *rows.front();
  if (has_bounds && rows.size() == 1 && row.contains("low") && row.contains("high")) {
    if (row.at("low").is_number()) figure.low = row.at("low").get<double>();
    if (row.at("high").is_number()) figure.high = row.at("high").get<double>();
    figure.unbounded = !figure.low.has_value() || !figure.high.has_value();
  }
  return figure;
}

// --- The figures that a report can have ---

// Every optional filled, one row in every list.
report::Report Everything() {
  report::Report report;
  report.throughput = attribution::Throughput{};
  report.step_ms = report::Times{0, 0, 0, 0, 0};
  for (auto& total : report.breakdown) total = attribution::CategoryTotal{};
  report.blame.resize(1);
  report::StageRow stage;
  stage.service_ms = report::Times{0, 0, 0, 0, 0};
  stage.utilization = stage.capacity_samples_per_s = stage.starved = stage.blocked = 0;
  stage.cpu_s = 0;
  stage.parallelism = 0;
  stage.elements = 0;
  stage.queue = report::QueueRow{0, 0, 0, 0};
  stage.ops.resize(1);
  stage.ops[0].cpu_ns = 1;  // 0 is null in a stage without any
  stage.sampled_ns = 1;
  report.stages = {stage};
  attribution::DeviceUse device;
  device.copies.resize(1);
  report.devices = {device};
  report.kernels.resize(1);
  report.arithmetic = attribution::Arithmetic{0, 0, 0, 0, 0};
  report.cpu = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  report.memory = {0, 0, {{"", 0}}, 0};
  report::FindingRow finding;
  finding.recommendation = findings::Recommendation{};
  finding.recommendation->gain = findings::Gain{};
  finding.recommendation->measured = findings::Measurement{};
  finding.recommendation->memory_bytes = 0;
  report.findings = {finding};
  return report;
}

void Collect(const Json& tree, const std::string& path, std::vector<std::string>& figures) {
  if (tree.is_object()) {
    for (const auto& [key, value] : tree.items()) {
      Collect(value, path.empty() ? key : path + "." + key, figures);
    }
  } else if (tree.is_array() && RowKeyOf(path).has_value()) {
    Collect(tree.at(0), path + "[]", figures);
  } else if (tree.is_number() || tree.is_boolean()) {
    if (path.ends_with("[].id") || path.ends_with("[].rank") || path.ends_with("[].line")) return;
    figures.push_back(path);
  }
}

std::string OneOf(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "" : ", ") + key;
  return keys.size() == 1 ? text : "{" + text + "}";
}

// Splits a path at its last dot: "breakdown.compute", "ns".
std::pair<std::string, std::string> Split(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace

std::string Metric::Pattern() const {
  std::string pattern;
  for (const Step& step : steps) {
    pattern += (pattern.empty() ? "" : ".") + step.key + (step.row ? "[]" : "");
  }
  return pattern;
}

bool Metric::IsShare() const {
  static const std::set<std::string_view> kKeys = {
      "fraction",       "utilization",     "starved", "blocked",   "empty",  "full",
      "share",          "confidence",      "steal",   "throttled", "others", "trainer_run_wait",
      "taken_by_input", "fraction_of_peak"};
  const std::string& key = steps.back().key;
  const bool of_category = steps.front().key == "breakdown" && (key == "low" || key == "high");
  return of_category || kKeys.contains(key);
}

std::optional<MetricFault> ReadMetric(std::string_view text, Metric& metric) {
  metric = {std::string(text), {}};
  for (size_t at = 0; at <= text.size();) {
    Metric::Step step;
    const size_t end = std::min(text.find_first_of(".[", at), text.size());
    step.key = text.substr(at, end - at);
    at = end;
    if (at < text.size() && text[at] == '[') {
      const size_t close = EndOfRow(text, at);
      if (close == std::string_view::npos) {
        return MetricFault{"a bracket of " + Quoted(text) + " is not closed",
                           "write it as stages[decode].utilization"};
      }
      step.row = text.substr(at + 1, close - at - 1);
      at = close + 1;
    }
    metric.steps.push_back(std::move(step));
    ++at;  // the dot
  }
  const std::string pattern = metric.Pattern();
  const auto& known = KnownFigures();
  if (std::find(known.begin(), known.end(), pattern) != known.end()) return std::nullopt;
  MetricFault fault{"a report has no figure " + Quoted(text), ""};
  std::vector<std::string> inside;
  for (const std::string& figure : known) {
    if (figure.starts_with(pattern + ".")) inside.push_back(figure);
  }
  // "input_stall" for "breakdown.input_stall.fraction".
  for (const std::string& figure : known) {
    const bool names = ("." + figure + ".").find("." + pattern + ".") != std::string::npos;
    if (inside.empty() && names && figure.ends_with(".fraction")) inside.push_back(figure);
  }
  const std::string nearest = Nearest(pattern, inside.empty() ? known : inside);
  fault.hint = "the nearest is " + Quoted(WithRows(nearest, metric));
  return fault;
}

std::vector<Figure> FiguresOf(const report::Report& report, const std::vector<Metric>& metrics) {
  const Json tree = ReportTree(report);
  std::vector<Figure> figures;
  for (const Metric& metric : metrics) figures.push_back(FigureAt(tree, metric));
  return figures;
}

std::optional<std::string_view> RowKeyOf(const std::string& pattern) {
  static const std::map<std::string, std::string_view> kLists = {
      {"stages", "name"},       {"kernels", "name"},     {"memory.stages", "name"},
      {"devices", "id"},        {"findings", "id"},      {"devices[].copies", "direction"},
      {"stages[].ops", "name"}, {"stall_blame", "stage"}};
  const auto found = kLists.find(pattern);
  if (found == kLists.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> InFewLines(const std::vector<std::string>& patterns) {
  using Keys = std::vector<std::string>;
  // Those of one object are a line, at the first of them.
  std::vector<std::pair<std::string, Keys>> objects;
  for (const std::string& pattern : patterns) {
    auto [object, key] = Split(pattern);
    auto found = std::find_if(objects.begin(), objects.end(),
                              [&](const auto& known) { return known.first == object; });
    if (found == objects.end()) found = objects.insert(found, {std::move(object), {}});
    found->second.push_back(std::move(key));
  }
  std::vector<std::string> lines;
  for (size_t i = 0; i < objects.size();) {
    const auto [outer, first] = Split(objects[i].first);
    Keys alike{first};
    size_t next = i + 1;
    for (; next < objects.size() && objects[next].second == objects[i].second; ++next) {
      const auto [other, key] = Split(objects[next].first);
      if (other != outer) break;
      alike.push_back(key);
    }
    const std::string line =
        (outer.empty() ? "" : outer + ".") + OneOf(alike) + "." + OneOf(objects[i].second);
    lines.push_back(WithRows(line, Metric{}));
    i = next;
  }
  return lines;
}

const std::vector<std::string>& KnownFigures() {
  static const std::vector<std::string> kFigures = [] {
    std::vector<std::string> figures;
    Collect(ReportTree(Everything()), "", figures);
    return figures;
  }();
  return kFigures;
}

}  // namespace stallscope::budget
