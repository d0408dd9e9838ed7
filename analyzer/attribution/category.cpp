#include "analyzer/attribution/category.h"

namespace stallscope::attribution {
namespace {

constexpr std::array<std::string_view, kCategories> kCategoryWords = {
    "compute", "communication", "transfer", "launch", "input_stall", "sync", "other"};
constexpr std::array<std::string_view, kCauses> kCauseWords = {
    "io", "lock", "blocked", "cpu_contention", "order", "cpu", "serial", "buffer", "unknown"};

}  // namespace

std::string_view WordFor(Category category) { return kCategoryWords[At(category)]; }
std::string_view WordFor(Cause cause) { return kCauseWords[At(cause)]; }

}  // namespace stallscope::attribution
