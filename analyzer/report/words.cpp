#include <array>

#include "analyzer/report/report.h"

namespace stallscope::report {

std::string_view WordFor(CheckLevel level) {
  return level == CheckLevel::kError ? "error" : "warn";
}

std::string_view WordFor(Outcome outcome) {
  constexpr std::array<std::string_view, 3> kWords = {"pass", "fail", "inconclusive"};
  return kWords[static_cast<size_t>(outcome)];
}

}  // namespace stallscope::report
