#include "analyzer/cli/progress.h"

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

}  // namespace

ProgressBar::ProgressBar(std::string unit, int64_t total, Total kind)
    : at_{std::move(unit), total, kind == Total::kAtMost, 0, 0, 0},
      terminal_(isatty(STDERR_FILENO) != 0),
      begin_ns_(MonotonicNs()),
      shown_ns_(begin_ns_) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::Show(int64_t done, const std::function<std::string()>& more) {
  const int64_t now = MonotonicNs();
  const double seconds = Seconds(Ns(now - begin_ns_));
  if (done != at_.done) {
    at_.done = done;
    at_.seconds = seconds;
  }
  if (now - shown_ns_ < (terminal_ ? kDrawEveryNs : kLineEveryNs)) return;
  shown_ns_ = now;
  at_.waited = seconds - at_.seconds;
  std::string line = words::ProgressText(at_);
  if (const std::string rest = more(); !rest.empty()) line += "; " + Printable(rest);
  if (!terminal_) {
    std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  const auto full =
      at_.total <= 0
          ? size_t{0}
          : static_cast<size_t>(std::clamp<int64_t>(done * kBarWidth / at_.total, 0, kBarWidth));
  std::fprintf(stderr, "\r\x1b[K[%s%s] %s", std::string(full, '#').c_str(),
               std::string(kBarWidth - full, '.').c_str(), line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace stallscope::cli
