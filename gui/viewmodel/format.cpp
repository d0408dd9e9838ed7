#include "gui/viewmodel/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace stallscope::viewmodel {
namespace {

// Three digits: 4.12, 41.2, 412.
std::string ThreeDigits(double value) {
  const double size = std::fabs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

// The largest unit of which there is at least one, as it is shown: 999.6 us are 1.00 ms.
template <size_t kUnits>
std::string InUnits(double value, const std::array<std::pair<double, const char*>, kUnits>& units) {
  size_t unit = 0;
  while (unit + 1 < kUnits && std::fabs(value) >= 0.9995 * units[unit + 1].first) ++unit;
  return ThreeDigits(value / units[unit].first) + " " + units[unit].second;
}

}  // namespace

std::string ShortNs(int64_t ns) {
  if (ns > -1'000 && ns < 1'000) return fmt::format("{} ns", ns);
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
      {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}};
  return InUnits(static_cast<double>(ns), kUnits);
}

std::string ExactNs(int64_t ns) {
  const uint64_t size = ns < 0 ? -static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return (ns < 0 ? "-" : "") + Grouped(size) + " ns";
}

std::string BothNs(int64_t ns) {
  if (ns > -1'000 && ns < 1'000) return ExactNs(ns);
  return ShortNs(ns) + " (" + ExactNs(ns) + ")";
}

std::string TimeAt(int64_t time_ns, int64_t origin_ns, int64_t step_ns) {
  const int64_t ns = time_ns - origin_ns;
  int digits = 0;
  for (int64_t unit = 1'000'000'000; unit > std::max<int64_t>(step_ns, 1) && digits < 9;
       unit /= 10) {
    ++digits;
  }
  // Short ones in milliseconds or microseconds: digits that are all 0 tell nothing.
  const int64_t size = ns < 0 ? -ns : ns;
  if (size < 1'000'000 && digits > 3) {
    return fmt::format("{:.{}f} us", static_cast<double>(ns) / 1e3, std::max(digits - 6, 0));
  }
  if (size < 1'000'000'000 && digits > 0) {
    return fmt::format("{:.{}f} ms", static_cast<double>(ns) / 1e6, std::max(digits - 3, 0));
  }
  return fmt::format("{:.{}f} s", static_cast<double>(ns) / 1e9, digits);
}

std::string Grouped(uint64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

std::string Percent(double fraction) {
  const double percent = 100 * fraction;
  return fmt::format("{:.{}f} %", percent, std::fabs(percent) >= 99.95 ? 0 : 1);
}

std::string PercentOrDash(const std::optional<double>& fraction) {
  return fraction.has_value() ? Percent(*fraction) : "-";
}

std::string Rate(double samples_per_s) {
  if (std::fabs(samples_per_s) < 99.95) return ThreeDigits(samples_per_s) + "/s";
  return Grouped(static_cast<uint64_t>(std::llround(std::max(samples_per_s, 0.0)))) + "/s";
}

std::string BytesText(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array<std::pair<double, const char*>, 5> kUnits = {{{1, "B"},
                                                                     {1024.0, "KiB"},
                                                                     {1048576.0, "MiB"},
                                                                     {1073741824.0, "GiB"},
                                                                     {1099511627776.0, "TiB"}}};
  return InUnits(static_cast<double>(bytes), kUnits);
}

std::string Factor(double factor) { return fmt::format("{:.2f}x", factor); }

std::string Number(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e6) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string Fitted(const std::string& text, size_t characters) {
  size_t count = 0;
  size_t cut = 0;  // where the ellipsis would go
  for (size_t at = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (!begins) continue;
    if (count + 1 == characters) cut = at;
    if (++count > characters) return text.substr(0, cut) + "\u2026";
  }
  return text;
}

}  // namespace stallscope::viewmodel
