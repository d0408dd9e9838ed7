#include "analyzer/findings/finding.h"

#include <array>

namespace stallscope::findings {

std::string_view WordFor(Severity severity) {
  constexpr std::array<std::string_view, 4> kWords = {"info", "low", "medium", "high"};
  return kWords[static_cast<size_t>(severity)];
}

std::string_view WordFor(Aim aim) {
  constexpr std::array<std::string_view, 3> kWords = {"speed", "memory", "quality"};
  return kWords[static_cast<size_t>(aim)];
}

}  // namespace stallscope::findings
