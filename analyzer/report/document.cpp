#include "analyzer/report/document.h"

#include <array>

namespace stallscope::report {

const Look& LookOf(attribution::Category category) {
  static constexpr std::array<Look, attribution::kCategories> kLooks = {{
      {"compute", "#009e73", 36, '#'},
      {"communication", "#cc79a7", 175, '&'},
      {"transfer", "#56b4e9", 74, '>'},
      {"launch", "#f0e442", 227, '^'},
      {"input stall", "#d55e00", 166, '-'},
      {"sync", "#0072b2", 25, '|'},
      {"other", "#999999", 246, '.'},
  }};
  return kLooks[attribution::At(category)];
}

}  // namespace stallscope::report
