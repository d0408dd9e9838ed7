#include "analyzer/report/sarif.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "analyzer/base/escape.h"
#include "analyzer/report/finding_cards.h"
#include "analyzer/report/json.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

// Where a budget decides what fails, a finding is no more than a warning.
std::string LevelOf(findings::Severity severity, bool budget) {
  if (severity == findings::Severity::kHigh) return budget ? "warning" : "error";
  return severity == findings::Severity::kMedium ? "warning" : "note";
}

std::string LevelOf(const CheckRow& check) {
  const bool error = check.level == CheckLevel::kError;
  if (check.outcome == Outcome::kFail) return error ? "error" : "warning";
  return error ? "warning" : "note";
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

// What a code scanning page shows beside each result of a rule.
struct Rule {
  std::string id;
  std::string title;
  std::string about;
  std::string help;
  std::string help_markdown;  // empty: as `help`
};

Json RuleTree(const Rule& rule, const std::string& level) {
  const std::string help = SarifText(rule.help);
  return {
      {"id", rule.id},
      {"name", NameOf(rule.id)},
      {"shortDescription", {{"text", SarifText(rule.title)}}},
      {"fullDescription", {{"text", SarifText(rule.about)}}},
      {"help",
       {{"text", help},
        {"markdown", rule.help_markdown.empty() ? EscapeMarkdown(rule.help) : rule.help_markdown}}},
      {"defaultConfiguration", {{"level", level}}}};
}

Json RegionOf(const findings::CodePlace& place) {
  Json region{{"startLine", std::max(place.line, 1U)}};
  if (place.extent.column != 0) region["startColumn"] = place.extent.column;
  if (place.extent.end_line != 0) region["endLine"] = place.extent.end_line;
  if (place.extent.end_column != 0) region["endColumn"] = place.extent.end_column;
  return region;
}

class Run {
 public:
  // `path`: the file for results without a place in code.
  explicit Run(std::string_view path) { ArtifactOf(path); }

  // A result at a place in code names that file beside it if `related` says what it is.
  void Add(const Rule& rule, const std::string& level, const std::string& text,
           const std::string& stage, const std::string& identity, Json properties,
           const findings::CodePlace& place = {}, const std::string& related = "") {
    const auto [known, is_new] = indices_.try_emplace(rule.id, rules_.size());
    if (is_new) rules_.push_back(RuleTree(rule, level));
    Json location = LocationAt(place.file.empty() ? 0 : ArtifactOf(place.file), place);
    if (!stage.empty()) {
      location["logicalLocations"] =
          Json::array({{{"name", stage}, {"fullyQualifiedName", stage}, {"kind", "stage"}}});
    }
    results_.push_back({{"ruleId", rule.id},
                        {"ruleIndex", known->second},
                        {"level", level},
                        {"message", {{"text", SarifText(text)}}},
                        {"locations", Json::array({location})},
                        {"partialFingerprints", {{"stallscope/v1", rule.id + "/" + identity}}},
                        {"properties", std::move(properties)}});
    if (place.file.empty() || related.empty()) return;
    Json beside = LocationAt(0, {});
    beside["message"] = {{"text", SarifText(related)}};
    results_.back()["relatedLocations"] = Json::array({beside});
  }

  Json artifacts() const {
    Json all = Json::array();
    for (const std::string& uri : uris_) {
      all.push_back({{"location", {{"uri", uri}}}, {"roles", Json::array({"analysisTarget"})}});
    }
    return all;
  }
  Json rules() const { return rules_; }
  Json results() const { return results_; }

 private:
  Json LocationAt(size_t artifact, const findings::CodePlace& place) const {
    return {{"physicalLocation",
             {{"artifactLocation", {{"uri", uris_[artifact]}, {"index", artifact}}},
              {"region", RegionOf(place)}}}};
  }

  size_t ArtifactOf(std::string_view path) {
    std::string uri = SarifUri(path);
    const auto known = std::find(uris_.begin(), uris_.end(), uri);
    if (known != uris_.end()) return static_cast<size_t>(known - uris_.begin());
    uris_.push_back(std::move(uri));
    return uris_.size() - 1;
  }

  std::vector<std::string> uris_;
  std::map<std::string, size_t> indices_;
  Json rules_ = Json::array();
  Json results_ = Json::array();
};

// "map-parallelism" becomes "Map parallelism".
std::string Title(std::string id) {
  std::replace(id.begin(), id.end(), '-', ' ');
  if (!id.empty() && id[0] >= 'a' && id[0] <= 'z') id[0] = static_cast<char>(id[0] - 'a' + 'A');
  return id;
}

Rule RuleOf(const FindingRow& finding) {
  Rule rule{finding.id.empty() ? "finding" : finding.id, "", finding.text, "", ""};
  rule.title = Title(rule.id);
  if (rule.about.empty()) rule.about = rule.title;
  if (!finding.recommendation.has_value()) {
    rule.help = rule.about;
    return rule;
  }
  const findings::Recommendation& recommendation = *finding.recommendation;
  rule.help = "To change: " + recommendation.text;
  rule.help_markdown = EscapeMarkdown(rule.help) + "\n";
  const auto add = [&](const std::string& title, const char* language, const std::string& code) {
    if (code.empty()) return;
    rule.help += "\n" + title + ":\n" + code;
    rule.help_markdown += "\n" + EscapeMarkdown(title) + ":\n\n" + MarkdownBlock(language, code);
  };
  if (!recommendation.patch.changes.empty()) {
    add("Patch of the spec (stallscope patch)", "json",
        WritePatch(recommendation.patch, JsonLayout::kOneLine));
  }
  add("tf.data", "python", recommendation.code.tf_data);
  add("PyTorch", "python", recommendation.code.pytorch);
  add("DALI", "python", recommendation.code.dali);
  add("grain", "python", recommendation.code.grain);
  return rule;
}

// Relative to the root of the checkout, as code scanning expects; for a job outside of any,
// relative to its folder.
findings::CodePlace InRepository(const findings::CodePlace& place, const Report& report) {
  for (const std::string& root : {report.job.checkout, report.folder}) {
    if (root.empty() || !place.file.starts_with(root + "/")) continue;
    return {place.file.substr(root.size() + 1), place.line, place.extent};
  }
  return place;
}

void AddFinding(Run& run, const FindingRow& finding, const Report& report) {
  Json properties{{"severity", findings::WordFor(finding.severity)}, {"share", finding.share}};
  std::string text = finding.text;
  if (finding.recommendation.has_value()) {
    const findings::Recommendation& recommendation = *finding.recommendation;
    text += "\n" + recommendation.text;
    const std::string gain = GainPhrase(recommendation);
    if (!gain.empty())
      text += (recommendation.gain && !recommendation.measured ? ": gain " : ": ") + gain;
    properties["patch"] = PatchTree(recommendation.patch);
  }
  for (const findings::SourceChange& change : finding.changes) {
    for (const std::string& by_hand : change.by_hand) text += "\n" + by_hand;
  }
  const std::string diff = findings::DiffOf(finding.changes);
  if (!diff.empty()) properties["diff"] = diff;
  run.Add(RuleOf(finding), LevelOf(finding.severity, report.budget.has_value()),
          text.empty() ? finding.id + "." : text, finding.stage, finding.stage,
          std::move(properties), InRepository(finding.where, report));
}

// "stages[decode].utilization" is about decode.
std::string StageOf(const std::string& metric) {
  for (const std::string_view list : {"stages[", "stall_blame["}) {
    if (!metric.starts_with(list)) continue;
    const size_t close = metric.rfind(']');
    const std::string row = metric.substr(list.size(), close - list.size());
    return row.substr(0, row.rfind(" ("));
  }
  return "";
}

bool IsReported(const FindingRow& finding) { return finding.severity >= findings::Severity::kLow; }

// The line to change for a failed check: that of the first finding with one, since findings come in
// the order of what to change first. An inconclusive check needs more steps, and most other figures
// (of the machine, the trace, the memory) another remedy than a finding's.
findings::CodePlace PlaceToChange(const CheckRow& check, const Report& report) {
  constexpr std::array<std::string_view, 5> kMendedInCode = {
      "throughput.", "step_time_ms.", "breakdown.input_stall.", "stages[", "stall_blame["};
  const bool in_code =
      std::any_of(kMendedInCode.begin(), kMendedInCode.end(),
                  [&](std::string_view begin) { return check.metric.starts_with(begin); });
  if (check.outcome != Outcome::kFail || !check.value.has_value() || !in_code) return {};
  const std::string stage = StageOf(check.metric);
  const auto found =
      std::find_if(report.findings.begin(), report.findings.end(), [&](const FindingRow& finding) {
        return IsReported(finding) && !finding.where.file.empty() &&
               (stage.empty() || finding.stage == stage);
      });
  return found == report.findings.end() ? findings::CodePlace{} : found->where;
}

void AddCheck(Run& run, const CheckRow& check, const Report& report) {
  static const Rule kRule{
      "budget", "A check of the budget did not hold",
      "A figure of the run's report is beyond its limit, or may be: the interval straddles it.",
      "A budget lists limits for figures of the report. Make the change that a finding proposes, "
      "or set a limit that the run can hold. An inconclusive check needs more steps or more runs.",
      ""};
  run.Add(kRule, LevelOf(check), std::string(WordFor(check.outcome)) + ": " + check.text,
          StageOf(check.metric), check.metric,
          {{"metric", check.metric},
           {"limit", check.limit},
           {"outcome", WordFor(check.outcome)},
           {"value", check.value ? Json(*check.value) : Json(nullptr)}},
          InRepository(PlaceToChange(check, report), report), "The run that was checked");
}

std::string Log(const Run& run, const SarifOptions& options, Json properties) {
  Json driver{{"name", "stallscope"}, {"rules", run.rules()}};
  if (!options.tool_version.empty()) driver["version"] = options.tool_version;
  Json tree{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}};
  Json log{{"tool", {{"driver", driver}}},
           {"artifacts", run.artifacts()},
           {"columnKind", "utf16CodeUnits"}};
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
    if (IsReported(finding)) AddFinding(run, finding, report);
  }
  if (report.budget.has_value()) {
    for (const CheckRow& check : *report.budget) {
      if (check.outcome != Outcome::kPass) AddCheck(run, check, report);
    }
  }
  return Log(run, options, {{"verdict", report.verdict.text}, {"trust", report.trust.line}});
}

std::string WriteSarif(const compare::Comparison& comparison, const SarifOptions& options) {
  Run run(options.spec_path.empty() ? options.trace : options.spec_path);
  const std::string text =
      comparison.text.empty() ? std::string(compare::WordFor(comparison.answer)) : comparison.text;
  if (comparison.answer == compare::Answer::kSlower) {
    run.Add(
        {"regression", "The new side is slower than the base",
         "The new runs are slower than the base, by more than chance explains.",
         "The tables of the report show which category and which stage got slower, and what the "
         "new spec changes.",
         ""},
        "error", text, "", "", ComparisonTree(comparison));
  } else if (comparison.answer == compare::Answer::kInconclusive) {
    run.Add({"inconclusive-comparison", "Whether the new side is slower cannot be told",
             "The interval of the change is too wide for an answer, or a side has too few steps.",
             "Record more steps, or five runs per side.", ""},
            "warning", text, "", "", ComparisonTree(comparison));
  }
  return Log(run, options, {{"answer", compare::WordFor(comparison.answer)}});
}

}  // namespace stallscope::report
