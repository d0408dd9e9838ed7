// How text on a terminal looks: columns and colors. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_LAYOUT_H_
#define STALLSCOPE_ANALYZER_REPORT_LAYOUT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::report {

constexpr size_t kTextWidth = 100;

// Colors that a color-blind person can tell; the words say the same without them.
enum class Tone { kPlain, kStrong, kGood, kBad, kFaint };
std::string Paint(std::string_view text, Tone tone, bool colors);

// Rows of cells as aligned columns, two spaces apart, cut to `width`. The first row is the head.
// Numbers stand to the right: `right` names those columns.
std::string Table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<size_t>& right, size_t width = kTextWidth);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_LAYOUT_H_
