#include "analyzer/timeline/counter_kind.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stallscope::timeline {

bool IsCumulative(const trace::CounterInfo& counter) {
  std::string_view name = counter.name;
  // Of several ranks: "rank 1 cpu.busy".
  if (name.starts_with("rank ")) name.remove_prefix(name.rfind(' ') + 1);
  constexpr std::array<std::string_view, 9> kSampled = {
      "process", "thread", "cpu.", "core", "io.", "disk.", "psi.", "cgroup.", "sampler."};
  const bool sampled = std::any_of(kSampled.begin(), kSampled.end(), [&](std::string_view prefix) {
    return name.starts_with(prefix);
  });
  if (!sampled) return false;
  if (counter.unit == "ns") return true;
  if (counter.unit == "bytes") {
    return name.starts_with("io.") || name.starts_with("disk.") ||
           name.find(".io_") != std::string_view::npos;
  }
  return counter.unit == "count" && !name.ends_with(".threads") && !name.ends_with(".in_flight");
}

}  // namespace stallscope::timeline
