#include "analyzer/findings/counted_time.h"

#include <algorithm>
#include <string>

namespace stallscope::findings {
namespace {

// By how much a running total grew in the window, and in how many steps.
struct CounterGrowth {
  uint64_t samples = 0;
  double value = 0;
};

CounterGrowth GrowthOf(const Case& c, std::string_view name) {
  CounterGrowth growth;
  const auto& window = c.attribution.window;
  for (const trace::CounterInfo& counter : c.run.counters) {
    if (counter.name != name) continue;
    double before = 0;
    for (const trace::Sample& sample : c.run.rows.samples) {
      if (sample.counter != counter.id) continue;
      if (sample.time_ns >= window.start_ns && sample.time_ns < window.end_ns) {
        ++growth.samples;
        growth.value += std::max(0.0, sample.value - before);
      }
      before = sample.value;
    }
    return growth;
  }
  return growth;
}

}  // namespace

CountedTime CountedIn(const Case& c, std::string_view name) {
  CountedTime counted;
  counted.count = GrowthOf(c, name).samples;
  const auto window_ns = static_cast<double>(c.attribution.window.ns());
  if (window_ns > 0) {
    counted.share = GrowthOf(c, std::string(name) + " time").value / window_ns;
  }
  return counted;
}

}  // namespace stallscope::findings
