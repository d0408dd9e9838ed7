#include "analyzer/compare/warnings.h"

#include <fmt/format.h>

#include <functional>
#include <set>

namespace stallscope::compare {
namespace {

using Runs = std::vector<RunSummary>;
using Words = std::set<std::string>;

Words WordsOf(const Runs& runs, const std::function<std::string(const RunSummary&)>& word) {
  Words words;
  for (const RunSummary& run : runs) {
    std::string one = word(run);
    if (!one.empty()) words.insert(std::move(one));
  }
  return words;
}

std::string Join(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Where both sides say it and they do not all say the same.
void WarnWhereDifferent(const Runs& base, const Runs& now, const std::string& what,
                        const std::function<std::string(const RunSummary&)>& word,
                        std::vector<std::string>& warnings) {
  const Words in_base = WordsOf(base, word);
  const Words in_now = WordsOf(now, word);
  if (in_base.empty() || in_now.empty()) return;
  if (in_base.size() == 1 && in_base == in_now) return;
  warnings.push_back("the " + what + " differ: base " + Join(in_base) + "; new " + Join(in_now));
}

void WarnOfLoss(const Runs& runs, std::vector<std::string>& warnings) {
  for (const RunSummary& run : runs) {
    if (run.complete) continue;
    warnings.push_back(run.trace + ": a part of this run is lost or was never written");
  }
}

std::optional<Spec> OneSpec(const Runs& runs, const std::string& side,
                            std::vector<std::string>& warnings) {
  std::optional<Spec> spec;
  for (const RunSummary& run : runs) {
    if (run.spec_json.empty()) return std::nullopt;
    auto read = ReadSpec(run.spec_json, run.trace);
    if (!read.ok()) {
      warnings.push_back("the specs cannot be compared: " + read.error().Line());
      return std::nullopt;
    }
    if (spec && !(*spec == read.value())) {
      warnings.push_back("the " + side + " runs have different specs");
      return std::nullopt;
    }
    spec = std::move(read).value();
  }
  return spec;
}

}  // namespace

std::vector<std::string> WarningsOf(const Runs& base, const Runs& now) {
  std::vector<std::string> warnings;
  WarnWhereDifferent(
      base, now, "hosts", [](const RunSummary& run) { return run.host; }, warnings);
  WarnWhereDifferent(
      base, now, "cores",
      [](const RunSummary& run) {
        return run.cores_allowed > 0 ? fmt::format("{:.4g}", run.cores_allowed) : std::string();
      },
      warnings);
  WarnWhereDifferent(
      base, now, "devices",
      [](const RunSummary& run) {
        if (run.device_name.empty() || run.device_name == run.device_kind) return run.device_kind;
        return run.device_kind + " (" + run.device_name + ")";
      },
      warnings);
  WarnOfLoss(base, warnings);
  WarnOfLoss(now, warnings);
  return warnings;
}

bool SameData(const Runs& base, const Runs& now, std::vector<std::string>& warnings) {
  const auto digest = [](const RunSummary& run) { return run.digest; };
  const Words in_base = WordsOf(base, digest);
  const Words in_now = WordsOf(now, digest);
  if (in_base.empty() || in_now.empty()) return true;
  if (in_base.size() == 1 && in_base == in_now) return true;
  warnings.emplace_back("the digests differ: the runs were not given the same batches");
  return false;
}

std::optional<Patch> SpecChange(const Runs& base, const Runs& now,
                                std::vector<std::string>& warnings) {
  const std::optional<Spec> from = OneSpec(base, "base", warnings);
  const std::optional<Spec> to = OneSpec(now, "new", warnings);
  if (!from || !to) return std::nullopt;
  return Diff(*from, *to);
}

}  // namespace stallscope::compare
