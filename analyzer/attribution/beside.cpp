#include "analyzer/attribution/beside.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace stallscope::attribution {

namespace {

// Each time, with its rank and name.
template <class Visit>
void ForEach(const model::Run& run, Visit visit) {
  const auto beside = [](const trace::SpanClass& what) {
    return what.activity == trace::SpanActivity::kEvaluation;
  };
  if (std::none_of(run.span_classes.begin(), run.span_classes.end(), beside)) return;
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(track, i);
      if (!beside(what)) continue;
      visit(track.rank, what.name, Interval{track.spans.start_ns[i], track.spans.EndNs(i)});
    }
  }
}

}  // namespace

std::vector<BesideUse> BesideSteps(const model::Run& run, const Window& window) {
  if (window.ns() <= 0) return {};
  const Interval range{window.start_ns, window.end_ns};
  struct Seen {
    uint64_t count = 0;
    Intervals at;
  };
  std::map<std::string, Seen> by_name;
  ForEach(run, [&](uint32_t, trace::StringId name, const Interval& at) {
    if (at.end_ns <= range.start_ns || at.start_ns >= range.end_ns) return;
    Seen& seen = by_name[std::string(run.Text(name))];
    ++seen.count;
    seen.at.push_back(at);
  });
  std::vector<BesideUse> uses;
  for (auto& [name, seen] : by_name) {
    BesideUse& use = uses.emplace_back();
    use.name = name;
    use.count = seen.count;
    for (const Interval& at : UnionWithin(std::move(seen.at), range)) {
      use.ns += at.end_ns - at.start_ns;
    }
    use.fraction = static_cast<double>(use.ns) / static_cast<double>(window.ns());
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const BesideUse& a, const BesideUse& b) { return a.ns > b.ns; });
  return uses;
}

Intervals TimesBesideSteps(const model::Run& run, uint32_t rank) {
  Intervals times;
  ForEach(run, [&](uint32_t of, trace::StringId, const Interval& at) {
    if (of == rank) times.push_back(at);
  });
  return UnionWithin(std::move(times), kEver);
}

}  // namespace stallscope::attribution
