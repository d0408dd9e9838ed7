// How text looks: colours where a person reads, plain where a program does. One thread.
#ifndef STALLSCOPE_ANALYZER_CLI_TERMINAL_H_
#define STALLSCOPE_ANALYZER_CLI_TERMINAL_H_

#include <string>
#include <string_view>
#include <vector>

namespace stallscope::cli {

// Colours that a colour-blind person can tell; the words say the same without them.
enum class Tone { kPlain, kStrong, kGood, kBad, kFaint };

// Stdout is a terminal and NO_COLOR is not set.
bool UseColors();
std::string Paint(std::string_view text, Tone tone, bool colors);

// A count as people read it: 1,234,567.
std::string Grouped(uint64_t count);
// 1.5 GiB, 312 KiB, 17 B.
std::string ReadableBytes(uint64_t bytes);
// 1.234 s, 17.5 ms, 312 ns.
std::string ReadableNs(int64_t ns);

// Control characters replaced: names come from files, and must neither steer a terminal nor break a
// line.
std::string Printable(std::string_view text);

// Rows of printable cells as aligned columns, two spaces apart, cut to `width`. The first row is
// the head. Numbers stand to the right: `right` names those columns.
std::string Table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<size_t>& right, size_t width = 100);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_TERMINAL_H_
