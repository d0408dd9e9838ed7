// Times of trace events, which are decimal microseconds, as whole nanoseconds. A double holds 53
// bits and an epoch in nanoseconds needs 61: it is never one. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DECIMAL_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DECIMAL_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace stallscope::importers::chrome {

// "1428625731896.179" to 1428625731896179. What is finer than a nanosecond is rounded to the
// nearest one, halves up. Exponents are understood. Nothing for what is no number or lies beyond
// the times of limits.h.
std::optional<int64_t> NanosecondsOf(std::string_view microseconds);

// A whole number, also where a file writes it as 7.0; nothing where it does not fit.
std::optional<uint64_t> WholeNumber(std::string_view text);

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DECIMAL_H_
