#include "analyzer/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/escape.h"
#include "analyzer/base/units.h"

namespace stallscope::cli {
namespace {

constexpr int64_t kDrawEveryNs = kNsPerSecond / 10;
constexpr int64_t kLineEveryNs = 5 * kNsPerSecond;
constexpr int kBarWidth = 30;

std::string TimeLeft(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

}  // namespace

ProgressBar::ProgressBar(std::string unit, int64_t total)
    : unit_(std::move(unit)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      begin_ns_(MonotonicNs()),
      shown_ns_(begin_ns_) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

std::string ProgressBar::Line(int64_t done, double seconds) const {
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
  if (total_ <= 0) return fmt::format("{} {}, {:.1f}/s", done, unit_, rate);
  if (done == 0) return fmt::format("0 of {} {}", total_, unit_);
  const double left = static_cast<double>(total_ - done) / std::max(rate, 1e-9);
  return fmt::format("{} of {} {}, {:.1f}/s, {} left", done, total_, unit_, rate, TimeLeft(left));
}

void ProgressBar::Show(int64_t done, const std::function<std::string()>& more) {
  const int64_t now = MonotonicNs();
  if (now - shown_ns_ < (terminal_ ? kDrawEveryNs : kLineEveryNs)) return;
  shown_ns_ = now;
  std::string line = Line(done, Seconds(Ns(now - begin_ns_)));
  if (const std::string rest = more(); !rest.empty()) line += "; " + Printable(rest);
  if (!terminal_) {
    std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  const auto full =
      total_ <= 0
          ? size_t{0}
          : static_cast<size_t>(std::clamp<int64_t>(done * kBarWidth / total_, 0, kBarWidth));
  std::fprintf(stderr, "\r\x1b[K[%s%s] %s", std::string(full, '#').c_str(),
               std::string(kBarWidth - full, '.').c_str(), line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace stallscope::cli
