#include "replay/whatif/error_ledger.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"
#include "analyzer/base/folders.h"
#include "analyzer/base/math.h"

namespace stallscope::replay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "stallscope.predictions/1";
constexpr size_t kMostEntries = 500;
constexpr uint64_t kLargestFile = uint64_t{1} << 20;
constexpr double kCovered = 0.9;
// A long row of lucky predictions proves no more than this.
constexpr double kLeastWidening = 0.4;
constexpr double kMostWidening = 5;
// Where nothing was verified yet: those of a model whose own intervals are right and whose errors
// are normal, at evenly spaced ranks.
constexpr std::array<double, 20> kEarlierScores = {0.03, 0.06, 0.10, 0.13, 0.17, 0.20, 0.24,
                                                   0.28, 0.32, 0.36, 0.41, 0.45, 0.51, 0.56,
                                                   0.63, 0.70, 0.78, 0.89, 1.00, 1.40};

// How many entries each of them counts for: two bad days must not rule the third.
constexpr int kEarlierWeight = 2;

double ScoreOf(const VerifiedPrediction& entry) {
  return std::abs(std::log(entry.measured / entry.predicted)) / std::log1p(entry.half_width);
}

bool Sensible(const VerifiedPrediction& entry) {
  return entry.predicted > 0 && entry.measured > 0 && entry.half_width > 0 &&
         std::isfinite(ScoreOf(entry));
}

Json ToJson(const VerifiedPrediction& entry) {
  return {{"host", entry.host},
          {"kind", entry.kind},
          {"predicted", entry.predicted},
          {"half_width", entry.half_width},
          {"measured", entry.measured}};
}

VerifiedPrediction FromJson(const Json& json) {
  return {json.at("host").get<std::string>(), json.at("kind").get<std::string>(),
          json.at("predicted").get<double>(), json.at("half_width").get<double>(),
          json.at("measured").get<double>()};
}

}  // namespace

std::string ErrorLedger::Path() {
  const auto folder = StateFolder();
  return folder.ok() ? folder.value() + "/predictions.json" : "";
}

ErrorLedger ErrorLedger::Load() {
  const std::string path = Path();
  if (path.empty()) return {};
  const auto text = ReadWholeFile(path, kLargestFile);
  return text.ok() ? Parse(text.value()) : ErrorLedger();
}

ErrorLedger ErrorLedger::Parse(std::string_view text) {
  ErrorLedger ledger;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("schema", Json()) != kSchema) return ledger;
  const Json entries = json.value("predictions", Json::array());
  if (!entries.is_array()) return ledger;
  for (const Json& entry : entries) {
    try {
      ledger.Add(FromJson(entry));
    } catch (const Json::exception&) {
      continue;  // one that somebody edited; the others count
    }
  }
  return ledger;
}

void ErrorLedger::Add(VerifiedPrediction entry) {
  if (!Sensible(entry)) return;
  if (std::find(entries_.begin(), entries_.end(), entry) != entries_.end()) return;
  entries_.push_back(std::move(entry));
  if (entries_.size() > kMostEntries) entries_.erase(entries_.begin());
}

std::string ErrorLedger::Text() const {
  Json json{{"schema", kSchema}, {"predictions", Json::array()}};
  for (const VerifiedPrediction& entry : entries_) json["predictions"].push_back(ToJson(entry));
  return JsonText(json) + "\n";
}

double ErrorLedger::WideningFor(std::string_view host, std::string_view kind) const {
  std::vector<double> scores;
  for (int i = 0; i < kEarlierWeight; ++i) {
    scores.insert(scores.end(), kEarlierScores.begin(), kEarlierScores.end());
  }
  for (const VerifiedPrediction& entry : entries_) {
    if (entry.host == host && entry.kind == kind) scores.push_back(ScoreOf(entry));
  }
  std::sort(scores.begin(), scores.end());
  // Of n + 1 scores, the next one included, this one is not exceeded by nine in ten.
  const auto rank =
      static_cast<size_t>(std::ceil(kCovered * static_cast<double>(scores.size() + 1)));
  const double widening = scores[std::min(rank, scores.size()) - 1];
  return std::clamp(widening, kLeastWidening, kMostWidening);
}

LedgerSummary ErrorLedger::SummaryOf(std::string_view host, std::string_view kind) const {
  LedgerSummary summary;
  std::vector<double> errors;
  for (const VerifiedPrediction& entry : entries_) {
    if (entry.host != host || entry.kind != kind) continue;
    errors.push_back(std::abs(entry.predicted / entry.measured - 1));
  }
  std::sort(errors.begin(), errors.end());
  summary.entries = errors.size();
  summary.median_error = Quantile(errors, 0.5);
  summary.widening = WideningFor(host, kind);
  return summary;
}

Status AddToLedger(const std::vector<VerifiedPrediction>& entries) {
  if (entries.empty()) return {};
  const std::string path = ErrorLedger::Path();
  if (path.empty()) {
    return Error{ErrorKind::kRun, "this user has no state folder", "", "set XDG_STATE_HOME"};
  }
  ErrorLedger ledger = ErrorLedger::Load();
  for (const VerifiedPrediction& entry : entries) ledger.Add(entry);
  return WriteFileAtomically(path, ledger.Text(), Over::kOwnInput);
}

}  // namespace stallscope::replay
