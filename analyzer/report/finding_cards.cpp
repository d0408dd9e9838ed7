#include "analyzer/report/finding_cards.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analyzer/base/escape.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

// "costs 12.0 MiB", "frees 3.00 MiB"; empty where it is unknown or nothing.
std::string MemoryPhrase(const findings::Recommendation& recommendation) {
  const int64_t bytes = recommendation.memory_bytes.value_or(0);
  if (bytes == 0) return "";
  return (bytes > 0 ? "costs " : "frees ") + words::Bytes(std::fabs(static_cast<double>(bytes)));
}

FindingCard::Advice AdviceOf(const findings::Recommendation& recommendation) {
  FindingCard::Advice advice;
  advice.text = recommendation.text;
  advice.gain = GainPhrase(recommendation);
  advice.priced = recommendation.gain.has_value() || recommendation.measured.has_value();
  advice.memory = MemoryPhrase(recommendation);
  for (const std::string& assumption : recommendation.assumptions) {
    advice.gain += (advice.gain.empty() ? "" : "; ") + assumption;
  }
  if (!recommendation.patch.changes.empty() && !recommendation.of_stages) {
    advice.patch = Code{"patch", "json", PatchText(recommendation.patch)};
  }
  const findings::Code& code = recommendation.code;
  const std::array<std::pair<const char*, const std::string*>, 4> frameworks = {
      {{"tf.data", &code.tf_data},
       {"pytorch", &code.pytorch},
       {"dali", &code.dali},
       {"grain", &code.grain}}};
  for (const auto& [name, text] : frameworks) {
    if (!text->empty()) advice.code.push_back({name, "python", *text});
  }
  return advice;
}

// "train.py:41", "train.py:41-43".
std::string LinesPlace(const std::string& file, const findings::Replacement& lines) {
  const std::string place = words::PlaceInCode(file, lines.first);
  return lines.last > lines.first ? place + "-" + std::to_string(lines.last) : place;
}

// The writers end a block themselves; an empty line in a suggestion would be one more line of code.
std::string WithoutLastFeed(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void AddChanges(const std::vector<findings::SourceChange>& changes, FindingCard::Advice& advice) {
  for (const findings::SourceChange& change : changes) {
    advice.by_hand.insert(advice.by_hand.end(), change.by_hand.begin(), change.by_hand.end());
    for (const findings::ChangedLines& lines : change.lines) {
      const findings::Replacement replacement = findings::ReplacementOf(lines);
      advice.suggestions.push_back(
          {LinesPlace(change.file, replacement), "suggestion", WithoutLastFeed(replacement.text)});
    }
  }
  const std::string diff = findings::DiffOf(changes);
  if (!diff.empty()) advice.diff = Code{"diff", "diff", WithoutLastFeed(diff)};
}

// True if another finding with the same name has a different diff: the command must name the stage.
bool NeedsStage(const FindingRow& finding, const Report& report) {
  const std::string diff = findings::DiffOf(finding.changes);
  if (finding.stage.empty()) return false;
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const FindingRow& other) {
    return other.id == finding.id && other.stage != finding.stage &&
           findings::DiffOf(other.changes) != diff;
  });
}

}  // namespace

std::string PatchText(const Patch& patch) {
  std::string text;
  for (const auto& change : patch.changes) {
    Patch one;
    one.changes.push_back(change);
    std::string line = WritePatch(one, JsonLayout::kOneLine);
    if (line.size() > 2) line = line.substr(1, line.size() - 2);  // its brackets
    text += (text.empty() ? "[" : ",\n ") + line;
  }
  return text.empty() ? text : text + "]";
}

FindingCard CardOf(const FindingRow& finding, const Report& report, size_t number) {
  FindingCard card;
  card.number = number;
  card.severity = finding.severity;
  card.id = finding.id;
  if (!finding.stage.empty()) card.place = "in " + finding.stage;
  if (finding.share > 0) {
    card.place +=
        (card.place.empty() ? "" : ", ") + words::Percent(finding.share) + " of step time";
  }
  card.text = finding.text;
  for (const EvidenceRow& evidence : finding.evidence) {
    if (!evidence.text.empty()) card.evidence.push_back(evidence.text);
  }
  card.where = words::PlaceInCode(finding.where.file, finding.where.line);
  if (finding.recommendation.has_value()) {
    card.advice = AdviceOf(*finding.recommendation);
    AddChanges(finding.changes, *card.advice);
    if (card.advice->diff.has_value()) {
      std::vector<std::string> apply = {"stallscope", "apply", report.trace, "--finding",
                                        finding.id};
      if (NeedsStage(finding, report)) apply.insert(apply.end(), {"--stage", finding.stage});
      card.advice->apply = ShellCommand(apply);
    }
  }
  return card;
}

GainText GainOf(const findings::Recommendation& recommendation) {
  const auto& gain = recommendation.gain;
  GainText text;
  if (const auto& measured = recommendation.measured) {
    text.measured = true;
    text.factor = words::Factor(measured->factor);
    text.beside = fmt::format("measured, {} to {} in {}", words::Factor(measured->low),
                              words::Factor(measured->high), words::Counted(measured->runs, "run"));
    text.disturbed = measured->disturbed;
    if (measured->first_run.has_value()) {
      text.beside +=
          ", " + words::Factor(*measured->first_run) + " in the run that wrote the store";
    }
    if (gain.has_value()) {
      text.predicted = fmt::format("predicted {} ({} to {})", words::Factor(gain->predicted),
                                   words::Factor(gain->low), words::Factor(gain->high));
    }
  } else if (gain.has_value()) {
    text.factor = words::Factor(gain->predicted);
    text.beside =
        fmt::format("predicted, {} to {}", words::Factor(gain->low), words::Factor(gain->high));
  } else {
    text.beside = recommendation.unpriced;
  }
  return text;
}

std::string MeasuredPhrase(const findings::Measurement& measured) {
  const std::string runs = words::Counted(measured.runs, "run");
  return fmt::format(
      "{:.2f}x ({:.2f} to {:.2f}, {}{})", measured.factor, measured.low, measured.high, runs,
      measured.first_run.has_value()
          ? fmt::format("; {:.2f}x in the run that wrote the store", *measured.first_run)
          : "");
}

std::string GainPhrase(const findings::Recommendation& recommendation) {
  const auto& gain = recommendation.gain;
  const auto& measured = recommendation.measured;
  if (!gain.has_value() && !measured.has_value()) return recommendation.unpriced;
  const auto predicted = [&] {
    return fmt::format("{:.2f}x ({:.2f} to {:.2f})", gain->predicted, gain->low, gain->high);
  };
  if (!measured.has_value()) return predicted();
  std::string text = "measured " + MeasuredPhrase(*measured);
  if (!measured->disturbed.empty()) text += ", disturbed: " + measured->disturbed;
  if (gain.has_value()) {
    text += (measured->disturbed.empty() ? ", predicted " : "; predicted ") + predicted();
  }
  return text;
}

}  // namespace stallscope::report
