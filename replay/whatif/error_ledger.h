// How far earlier predictions were off on this machine, and how wide that makes the next interval.
//
// Every prediction that a run has checked leaves an entry. Its score is how many of the model's own
// half-widths the measurement was away, in logarithms; an interval is widened by the 90% quantile
// of the scores (conformal prediction: it holds whatever the model gets wrong, as long as the next
// pipeline is like the earlier ones). Assumed scores, of a model whose own intervals are right,
// count as well, like 40 entries: on the first day nothing changes, and each further entry says
// more of this user's own pipelines.
//
// The file is predictions.json in the user's state folder, the newest 500 entries of all machines
// that share it; deleting it is safe. Plain data; any thread may read it while no one changes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::replay {

// A prediction and the mean of the runs that checked it.
struct VerifiedPrediction {
  std::string host;  // whose clock ticked: a machine's name
  std::string kind;  // of pipeline: kOwnPipeline, kJob. Each has its own scores
  double predicted = 0;
  double half_width = 0;  // by the model itself, not widened: a part of the prediction
  double measured = 0;
  bool operator==(const VerifiedPrediction&) const = default;
};

constexpr std::string_view kOwnPipeline = "pipeline";
constexpr std::string_view kJob = "job";

// What `doctor` shows of a machine's entries.
struct LedgerSummary {
  size_t entries = 0;
  double median_error = 0;  // |predicted / measured - 1|
  double widening = 1;
};

class ErrorLedger {
 public:
  // Of this user. Empty if there is no file, or none that could be read: a ledger is never a reason
  // for a command to fail.
  static ErrorLedger Load();
  static ErrorLedger Parse(std::string_view text);
  // Where Load() looks. Empty: this user has no state folder.
  static std::string Path();

  // An entry that is there already is not added: a sweep that is resumed finds its points again.
  // One without sensible figures is left out.
  void Add(VerifiedPrediction entry);
  std::string Text() const;
  const std::vector<VerifiedPrediction>& entries() const { return entries_; }

  // By how much an interval of the model must be widened; at least kLeastWidening.
  double WideningFor(std::string_view host, std::string_view kind) const;
  LedgerSummary SummaryOf(std::string_view host, std::string_view kind) const;

 private:
  std::vector<VerifiedPrediction> entries_;  // oldest first
};

// Adds to the user's file; two processes that do so at once may lose one's entries.
Status AddToLedger(const std::vector<VerifiedPrediction>& entries);

}  // namespace stallscope::replay
