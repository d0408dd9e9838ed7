#include "collectors/device/cuda/clock_alignment.h"

#include <algorithm>
#include <cmath>

namespace stallscope::device::cuda {

ClockAlignment::Reading ClockAlignment::Read(const std::function<int64_t()>& device_clock,
                                             int tries) {
  Reading best;
  for (int i = 0; i < tries; ++i) {
    Reading reading;
    reading.before = NowTicks();
    reading.device_ns = device_clock();
    reading.after = NowTicks();
    if (i == 0 || reading.after - reading.before < best.after - best.before) best = reading;
  }
  return best;
}

void ClockAlignment::Add(const Reading& reading) {
  const double half = static_cast<double>(reading.after - reading.before) / 2;
  const Anchor anchor{reading.device_ns, static_cast<double>(reading.before) + half};
  if (!anchors_.empty()) {
    const Anchor& last = anchors_.back();
    if (anchor.device_ns <= last.device_ns || anchor.ticks <= last.ticks) return;
    // The first line has the nominal slope, which is not measured.
    if (anchors_.size() > 1) {
      const double led = last.ticks + static_cast<double>(anchor.device_ns - last.device_ns) *
                                          Slope(anchors_.size() - 2);
      beside_ = std::max(beside_, std::abs(anchor.ticks - led));
    }
  }
  detour_ = std::max(detour_, half);
  anchors_.push_back(anchor);
}

double ClockAlignment::Slope(size_t segment) const {
  if (anchors_.size() < 2) return nominal_;
  const Anchor& a = anchors_[segment];
  const Anchor& b = anchors_[segment + 1];
  return (b.ticks - a.ticks) / static_cast<double>(b.device_ns - a.device_ns);
}

Ticks ClockAlignment::ToTicks(int64_t device_ns) const {
  if (anchors_.empty()) return 0;
  const auto after =
      std::upper_bound(anchors_.begin(), anchors_.end(), device_ns,
                       [](int64_t ns, const Anchor& anchor) { return ns < anchor.device_ns; });
  const size_t last = anchors_.size() < 2 ? 0 : anchors_.size() - 2;
  const size_t segment = std::min(
      after == anchors_.begin() ? 0 : static_cast<size_t>(after - anchors_.begin()) - 1, last);
  const Anchor& from = anchors_[segment];
  const double ticks =
      from.ticks + static_cast<double>(device_ns - from.device_ns) * Slope(segment);
  return ticks <= 0 ? 0 : static_cast<Ticks>(std::llround(ticks));
}

double ClockAlignment::ErrorNs() const { return (detour_ + beside_) / nominal_; }

double ClockAlignment::DriftPpm() const {
  if (anchors_.size() < 2) return 0;
  const Anchor& a = anchors_.front();
  const Anchor& b = anchors_.back();
  const double ours_ns = (b.ticks - a.ticks) / nominal_;
  return (static_cast<double>(b.device_ns - a.device_ns) / ours_ns - 1) * 1e6;
}

}  // namespace stallscope::device::cuda
