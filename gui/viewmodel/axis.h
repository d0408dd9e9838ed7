// Ticks of axes: at round values, or equally spaced. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gui/session/state.h"

namespace stallscope::viewmodel {

struct Tick {
  float x = 0;
  std::string text;
};

// Round times since `origin_ns` over a range drawn `width` wide, at least `least` apart.
std::vector<Tick> TimeTicks(const session::Range& range, int64_t origin_ns, float width,
                            float least);

// Rounded up to 1, 2, 4, 6 or 8 times a power of ten: a fourth of it is round, too.
double NiceEnd(double value);

// Five equally spaced values from end to end.
template <class Text>
std::vector<std::string> TickTexts(double low, double high, Text&& text) {
  constexpr size_t kTicks = 5;
  std::vector<std::string> ticks;
  for (size_t i = 0; i < kTicks; ++i) {
    ticks.push_back(
        text(low + (high - low) * static_cast<double>(i) / static_cast<double>(kTicks - 1)));
  }
  return ticks;
}

}  // namespace stallscope::viewmodel
