// How text looks: columns, figures as people read them, colours. What is printed for a person, by
// whichever command, goes through here. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_LAYOUT_H_
#define STALLSCOPE_ANALYZER_REPORT_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::report {

constexpr size_t kTextWidth = 100;

// Colours that a colour-blind person can tell; the words say the same without them.
enum class Tone { kPlain, kStrong, kGood, kBad, kFaint };
std::string Paint(std::string_view text, Tone tone, bool colors);

// A count as people read it: 1,234,567.
std::string Grouped(uint64_t count);
// 1.5 GiB, 312 KiB, 17 B.
std::string ReadableBytes(uint64_t bytes);
// 1.234 s, 17.5 ms, 312 ns.
std::string ReadableNs(int64_t ns);
// Three digits that matter, grouped: 1,234  12.3  0.00123; very large and small ones as 1.23e+12.
std::string ReadableNumber(double value);
// 41.2 %.
std::string ReadablePercent(double fraction);

// The columns that printable text takes on a terminal: two for a wide character, none for a
// combining one.
size_t TextWidth(std::string_view text);
// Ends in "…" where it is cut.
std::string CutTo(std::string_view text, size_t width);
// Begins with "…" where it is cut: of a path the file's name says most.
std::string EndOf(std::string_view text, size_t width);
// `text` as printable lines of at most `width` columns, broken at spaces where there are some and
// nowhere else: a line feed in a name must not begin a line. Every line but the first begins with
// `indent` spaces, which count.
std::vector<std::string> Wrapped(std::string_view text, size_t width, size_t indent = 0);

// Rows of cells as aligned columns, two spaces apart, cut to `width`. The first row is the head.
// Numbers stand to the right: `right` names those columns.
std::string Table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<size_t>& right, size_t width = kTextWidth);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_LAYOUT_H_
