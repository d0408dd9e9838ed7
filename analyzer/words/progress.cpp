#include "analyzer/words/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analyzer/words/words.h"

namespace stallscope::words {
namespace {

std::string TimeLeft(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

}  // namespace

std::string ProgressText(const Progress& at) {
  constexpr double kShortest = 0.5;  // no "0 s left"
  constexpr double kPause = 5;       // that says nothing about the rest
  constexpr double kMuchLonger = 2;  // than the others took
  const std::string_view bound = at.at_most ? "at most " : "";
  std::string text = at.total > 0 ? fmt::format("{} of {}{} {}", at.done, bound, at.total, at.unit)
                                  : fmt::format("{} {}", at.done, at.unit);
  if (at.done <= 0) return text;
  // Work that takes minutes each would read as 0.0/s.
  const double each = std::max(at.seconds, 1e-3) / static_cast<double>(at.done);
  text += ", " + (each <= 1 ? Rate(1 / each) : Duration(each * 1e9) + " each");
  // By what is done, and less what the next one took so far: a rate up to now falls while that one
  // runs, so that the time left would count up.
  const double left = each * static_cast<double>(at.total - at.done) - at.waited;
  const bool as_before = at.waited < std::max(kMuchLonger * each, kPause);
  if (!at.at_most && left >= kShortest && as_before) text += ", " + TimeLeft(left) + " left";
  return text;
}

}  // namespace stallscope::words
