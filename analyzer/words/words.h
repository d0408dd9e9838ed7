// How figures read, wherever a person reads them: findings, reports, the terminal, the window.
//
// A figure has three significant digits and a space before its unit; a percentage has one decimal
// below 100 and no space: 72.4%. Amounts of bytes are binary (KiB, MiB, GiB), because memory and
// its limits are; rates are decimal (GB/s), because links and disks are sold by 10^9. What is not
// known is a dash. Any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::words {

inline constexpr std::string_view kUnknown = "-";

// --- Counts and plain numbers ---

std::string Grouped(uint64_t count);  // "1,234,567"
// "1 step", "1,234 steps"; `many` where an "s" does not make the plural: "2 batches".
std::string Counted(uint64_t count, std::string_view one, std::string_view many = "");
// "1,234", "12.3", "0.00123"; very large and very small ones as "1.23e+12".
std::string Number(double value);
std::string Percent(double fraction);        // "41.2%", "100%"
std::string SignedPercent(double fraction);  // "+41.2%", "-0.3%"
std::string Factor(double factor);           // "1.80x"

// --- Units ---

std::string Duration(double ns);  // "412 ns", "41.2 us", "4.12 ms", "12.0 s", "4,123 s"
template <std::integral Ns>
std::string Duration(Ns ns) {
  return Duration(static_cast<double>(ns));
}
std::string ExactNs(int64_t ns);  // "4,123,456 ns"
std::string BothNs(int64_t ns);   // "4.12 ms (4,123,456 ns)"
// A point on a timeline, relative to `origin_ns`, with as many digits as `step_ns` needs:
// "1.2345 s".
std::string TimeAt(int64_t time_ns, int64_t origin_ns, int64_t step_ns);

std::string Bytes(double bytes);  // "17 B", "1.50 KiB", "312 MiB"
template <std::integral Count>
std::string Bytes(Count bytes) {
  return Bytes(static_cast<double>(bytes));
}
std::string BytesPerSecond(double bytes_per_s);  // "12.3 GB/s"
std::string Flops(double flops);                 // "1.61 TFLOP"
std::string Rate(double per_s);                  // "1,230/s"

// --- The same where the figure may be unknown ---

std::string CountOrDash(const std::optional<uint64_t>& count);
std::string NumberOrDash(const std::optional<double>& value);
std::string PercentOrDash(const std::optional<double>& fraction);
std::string BytesOrDash(const std::optional<uint64_t>& bytes);
std::string MillisecondsOrDash(const std::optional<double>& ms);  // "41.2 us", "4.12 ms"

// --- Fitting text into a width. Never for what is meant to be copied ---

inline constexpr size_t kTextWidth = 80;  // of what the programs print for people

// The columns that printable text takes on a terminal: two for a wide character, none for a
// combining one.
size_t TextWidth(std::string_view text);
// Ends in "…" where it is cut.
std::string CutTo(std::string_view text, size_t width);
// Begins with "…" where it is cut: the end of a path tells more than its beginning.
std::string EndOf(std::string_view text, size_t width);
// `text` as printable lines of at most `width` columns, broken at spaces where there are some; a
// word longer than a line is broken behind a separator (/-.,:=, or a _ between letters) or before a
// capital where it has one there. A line feed in a name must not begin a line. Every line but the
// first begins with `indent` spaces, which count.
std::vector<std::string> Wrapped(std::string_view text, size_t width, size_t indent = 0);

// "train.py:12": the file's own name; empty where the file is unknown.
std::string PlaceInCode(std::string_view file, uint32_t line);
// "/home/u/train.py:12", for copying; empty if the file is unknown.
std::string WholePlace(std::string_view file, uint32_t line);

// A C++ kernel's name without its result, parameters, lambdas and namespaces:
// "vectorized_elementwise_kernel<4, FillFunctor<float>, array<char*, 1ul>>".
std::string KernelName(std::string_view name);

// --- Many lines of one kind ---

// Lines that differ in their numbers alone, or in the file that they begin with ("a.sst: ..."), as
// the first of them with how many more there are and between what the numbers are: "a.sst: 12
// events were dropped (and 45 more of this kind: 3 to 90)". Up to two of a kind stay as they are.
std::vector<std::string> Condensed(const std::vector<std::string>& lines);

}  // namespace stallscope::words
