#include "collectors/system/round.h"

#include <algorithm>
#include <utility>

namespace stallscope::system {

Round::Round(std::vector<std::unique_ptr<Source>> sources, CounterSink& sink, Clock clock)
    : sink_(sink), clock_(clock) {
  entries_.reserve(sources.size());
  for (auto& source : sources) entries_.push_back({std::move(source)});
}

void Round::SampleOnce(int64_t now_ns, int64_t interval_ns) {
  for (Entry& entry : entries_) {
    if (now_ns + interval_ns / 2 >= entry.due_ns) Read(entry, now_ns, Effort::kBounded);
  }
}

void Round::SampleAll(int64_t now_ns) {
  for (Entry& entry : entries_) Read(entry, now_ns, Effort::kComplete);
}

void Round::Read(Entry& entry, int64_t now_ns, Effort effort) {
  const int64_t before = clock_();
  entry.source->Read(sink_, effort);
  const int64_t cost = clock_() - before;
  // A complete reading opens files and looks at every thread: no measure of the others.
  if (effort == Effort::kBounded) {
    entry.cost_ns = cost < entry.cost_ns ? cost : entry.cost_ns + (cost - entry.cost_ns) / 8;
  }
  const auto affordable = static_cast<int64_t>(static_cast<double>(entry.cost_ns) / kShare);
  const int64_t period =
      std::max(entry.source->period_ns(), std::min(affordable, kLongestStretchNs));
  entry.due_ns = now_ns + period;
}

std::vector<Absence> Round::absences() const {
  std::vector<Absence> all;
  for (const Entry& entry : entries_) {
    const auto& some = entry.source->absences();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace stallscope::system
