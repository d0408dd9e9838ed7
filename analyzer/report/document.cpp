#include "analyzer/report/document.h"

#include <fmt/core.h>

#include <array>

#include "analyzer/words/words.h"

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

std::string CategoryWord(attribution::Category category, bool emulated) {
  using attribution::Category;
  std::string word(LookOf(category).word);
  const bool of_device = category == Category::kCompute || category == Category::kTransfer ||
                         category == Category::kCommunication || category == Category::kLaunch;
  return emulated && of_device ? word + " (emulated)" : word;
}

std::string IntervalPhrase(const attribution::CategoryTotal& total) {
  if (!total.bounded) return std::string(words::kUnknown);
  return fmt::format("{:.1f} to {:.1f}", total.low * 100, total.high * 100);
}

std::string AndMore(size_t all, size_t shown, const std::string& noun) {
  return "and " + words::Counted(all - shown, "more " + noun);
}

}  // namespace stallscope::report
