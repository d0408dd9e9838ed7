#include <array>

#include "analyzer/compare/compare.h"

namespace stallscope::compare {

std::string_view WordFor(Answer answer) {
  constexpr std::array<std::string_view, 4> kWords = {"faster", "slower", "no real change",
                                                      "inconclusive"};
  return kWords[static_cast<size_t>(answer)];
}

}  // namespace stallscope::compare
