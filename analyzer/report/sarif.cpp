#include "analyzer/report/sarif.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "analyzer/base/escape.h"
#include "analyzer/report/describe.h"
#include "analyzer/report/json.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

std::string LevelOf(findings::Severity severity) {
  if (severity == findings::Severity::kHigh) return "error";
  return severity == findings::Severity::kMedium ? "warning" : "note";
}

// "map-parallelism" becomes "MapParallelism".
std::string NameOf(std::string_view id) {
  std::string name;
  bool upper = true;
  for (const char c : id) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) name += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = !letter;
  }
  return name.empty() ? "Finding" : name;
}

class Run {
 public:
  explicit Run(std::string_view path) : uri_(SarifUri(path)) {}

  void Add(const std::string& rule, const std::string& about, const std::string& level,
           const std::string& text, const std::string& stage, Json properties) {
    const auto [known, is_new] = indices_.try_emplace(rule, rules_.size());
    if (is_new) {
      rules_.push_back({{"id", rule},
                        {"name", NameOf(rule)},
                        {"shortDescription", {{"text", SarifText(about)}}},
                        {"defaultConfiguration", {{"level", level}}}});
    }
    Json location{{"physicalLocation", {{"artifactLocation", {{"uri", uri_}}}}}};
    location["physicalLocation"]["region"] = {{"startLine", 1}};
    if (!stage.empty()) {
      location["logicalLocations"] = Json::array({{{"name", stage}, {"kind", "stage"}}});
    }
    results_.push_back({{"ruleId", rule},
                        {"ruleIndex", known->second},
                        {"level", level},
                        {"message", {{"text", SarifText(text)}}},
                        {"locations", Json::array({location})},
                        {"partialFingerprints", {{"stallscope/v1", rule + "/" + stage}}},
                        {"properties", std::move(properties)}});
  }

  Json rules() const { return rules_; }
  Json results() const { return results_; }

 private:
  std::string uri_;
  std::map<std::string, size_t> indices_;
  Json rules_ = Json::array();
  Json results_ = Json::array();
};

void AddFinding(Run& run, const FindingRow& finding) {
  Json properties{{"severity", findings::WordFor(finding.severity)}, {"share", finding.share}};
  std::string text = finding.text;
  if (finding.recommendation.has_value()) {
    const findings::Recommendation& recommendation = *finding.recommendation;
    text += "\n" + recommendation.text;
    const std::string gain = GainPhrase(recommendation);
    if (!gain.empty()) text += (recommendation.gain ? ": gain " : ": ") + gain;
    properties["patch"] = PatchTree(recommendation.patch);
  }
  run.Add(finding.id.empty() ? "finding" : finding.id,
          "stallscope finding " + (finding.id.empty() ? "finding" : finding.id),
          LevelOf(finding.severity), text.empty() ? finding.id + "." : text, finding.stage,
          std::move(properties));
}

void AddCheck(Run& run, const CheckRow& check) {
  const bool error = check.level == CheckLevel::kError && check.outcome == Outcome::kFail;
  run.Add("budget", "A check of the budget did not hold", error ? "error" : "warning",
          std::string(WordFor(check.outcome)) + ": " + check.text, check.metric,
          {{"metric", check.metric},
           {"limit", check.limit},
           {"outcome", WordFor(check.outcome)},
           {"value", check.value ? Json(*check.value) : Json(nullptr)}});
}

std::string Log(const Run& run, const SarifOptions& options, Json properties) {
  Json driver{{"name", "stallscope"}, {"rules", run.rules()}};
  if (!options.tool_version.empty()) driver["version"] = options.tool_version;
  Json tree{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}};
  Json log{{"tool", {{"driver", driver}}}, {"columnKind", "utf16CodeUnits"}};
  log["results"] = run.results();
  log["properties"] = std::move(properties);
  tree["runs"] = Json::array();
  tree["runs"].push_back(std::move(log));
  return JsonText(tree) + "\n";
}

}  // namespace

std::string WriteSarif(const Report& report, const SarifOptions& options) {
  Run run(options.spec_path.empty() ? report.trace : options.spec_path);
  for (const FindingRow& finding : report.findings) {
    if (finding.severity >= findings::Severity::kLow) AddFinding(run, finding);
  }
  if (report.budget.has_value()) {
    for (const CheckRow& check : *report.budget) {
      if (check.outcome != Outcome::kPass) AddCheck(run, check);
    }
  }
  return Log(run, options, {{"verdict", report.verdict.text}, {"trust", report.trust.line}});
}

std::string WriteSarif(const compare::Comparison& comparison, const SarifOptions& options) {
  Run run(options.spec_path);
  if (comparison.answer == compare::Answer::kSlower) {
    run.Add("regression", "The new side is slower than the base", "error",
            comparison.text.empty() ? "slower" : comparison.text, "", ComparisonTree(comparison));
  }
  return Log(run, options, {{"answer", compare::WordFor(comparison.answer)}});
}

}  // namespace stallscope::report
