#include "analyzer/attribution/category.h"

namespace stallscope::attribution {

std::string_view WordFor(Category category) {
  constexpr std::array<std::string_view, kCategories> kWords = {
      "compute", "communication", "transfer", "launch", "input_stall", "sync", "other"};
  return kWords[At(category)];
}

std::string_view WordFor(Cause cause) {
  constexpr std::array<std::string_view, kCauses> kWords = {
      "io",  "lock",   "blocked", "cpu_contention", "order",
      "cpu", "serial", "buffer",  "startup",        "unknown"};
  return kWords[At(cause)];
}

}  // namespace stallscope::attribution
