#include <map>

#include "analyzer/report/json_tree.h"
#include "analyzer/report/metric.h"

namespace stallscope::report {
namespace {

// Every optional filled, one row in every list.
Report Everything() {
  Report report;
  report.throughput = attribution::Throughput{};
  report.step_ms = attribution::Quantiles{};
  for (auto& total : report.breakdown) total = attribution::CategoryTotal{};
  report.blame.resize(1);
  StageRow stage;
  stage.service_ms = attribution::Quantiles{};
  stage.utilization = stage.capacity_samples_per_s = stage.starved = stage.blocked = 0;
  stage.cpu_s = 0;
  stage.parallelism = 0;
  stage.queue = QueueRow{0, 0, 0, 0};
  report.stages = {stage};
  attribution::DeviceUse device;
  device.copies.resize(1);
  report.devices = {device};
  report.kernels.resize(1);
  report.arithmetic = attribution::Arithmetic{0, 0, 0, 0, 0};
  report.cpu = {0, 0, 0, 0, 0, 0, 0};
  report.memory = {0, 0, {{"", 0}}, 0};
  FindingRow finding;
  finding.recommendation = findings::Recommendation{};
  finding.recommendation->gain = findings::Gain{};
  finding.recommendation->measured = 1;
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
    if (path.ends_with("[].id") || path.ends_with("[].rank")) return;
    figures.push_back(path);
  }
}

}  // namespace

std::optional<std::string_view> RowKeyOf(const std::string& pattern) {
  static const std::map<std::string, std::string_view> kLists = {
      {"stages", "name"},      {"kernels", "name"}, {"memory.stages", "name"},
      {"devices", "id"},       {"findings", "id"},  {"devices[].copies", "direction"},
      {"stall_blame", "stage"}};
  const auto found = kLists.find(pattern);
  if (found == kLists.end()) return std::nullopt;
  return found->second;
}

const std::vector<std::string>& KnownFigures() {
  static const std::vector<std::string> kFigures = [] {
    std::vector<std::string> figures;
    Collect(ReportTree(Everything()), "", figures);
    return figures;
  }();
  return kFigures;
}

}  // namespace stallscope::report
