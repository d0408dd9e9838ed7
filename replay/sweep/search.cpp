#include "replay/sweep/search.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/thread.h"
#include "analyzer/spec/ladder.h"
#include "replay/sweep/moves.h"

namespace stallscope::replay {
namespace {

// As kAlike, of a pipeline: its simulation has that much noise.
constexpr double kAlikePipelines = 1.005;
constexpr size_t kMostSteps = 12;

class Searcher {
 public:
  Searcher(const Predictor& predictor, const Spec& start, const SearchLimits& limits)
      : predictor_(predictor),
        start_(start),
        limits_(limits),
        alike_(IsJob(start) ? kAlike : kAlikePipelines) {}

  // Rates within this factor are alike.
  double alike() const { return alike_; }

  // From where the search began.
  double Distance(const Spec& spec) const { return DistanceOf(start_, spec, limits_.cores); }

  std::optional<Candidate> Priced(const Spec& spec) { return std::move(PriceAll({spec}).front()); }

  // The start, which may need more memory than the limit.
  std::optional<Candidate> Start() {
    if (Stopped()) return std::nullopt;
    Candidate candidate{start_, Predicted(start_)};
    if (limits_.simulated) limits_.simulated(1);
    if (!candidate.price.rate) return std::nullopt;
    return candidate;
  }

  // The best that single moves lead to.
  Candidate Climb(Candidate at) {
    for (size_t step = 0; step < kMostSteps && !Stopped(); ++step) {
      std::vector<Spec> nearby;
      for (const Patch& move : MovesFrom(at.spec, limits_.cores, limits_.threads_of_job)) {
        if (auto spec = Apply(at.spec, move); spec.ok()) nearby.push_back(std::move(spec).value());
      }
      auto best = BestOf(PriceAll(nearby));
      if (!best || Rate(*best) < Rate(at) * alike_) break;
      at = std::move(*best);
    }
    return at;
  }

  // The nearest to the start that single moves reach without giving up speed.
  Candidate Prune(Candidate at) {
    const double floor = Rate(at) / alike_;
    for (size_t step = 0; step < 4 * kMostSteps && !Stopped(); ++step) {
      std::vector<Spec> nearer;
      for (const Patch& move : MovesFrom(at.spec, limits_.cores, limits_.threads_of_job)) {
        auto spec = Apply(at.spec, move);
        if (spec.ok() && Distance(spec.value()) < Distance(at.spec)) {
          nearer.push_back(std::move(spec).value());
        }
      }
      std::optional<Candidate> least;
      for (auto& candidate : PriceAll(nearer)) {
        if (!candidate || Rate(*candidate) < floor) continue;
        if (!least || Distance(candidate->spec) < Distance(least->spec))
          least = std::move(candidate);
      }
      if (!least) break;
      at = std::move(*least);
    }
    return at;
  }

  static double Rate(const Candidate& candidate) {
    return candidate.price.rate ? candidate.price.rate->samples_per_s : 0;
  }

 private:
  bool Stopped() const { return limits_.stop_requested && limits_.stop_requested(); }

  Price Predicted(const Spec& spec) const {
    return predictor_.Predict(spec, limits_.fewer_cores ? limits_.cores : 0);
  }

  std::vector<std::optional<Candidate>> PriceAll(const std::vector<Spec>& specs) {
    std::vector<std::optional<Candidate>> priced(specs.size());
    ForEachParallel(specs.size(), limits_.threads, [&](size_t i) {
      if (Stopped()) return;
      Candidate candidate{specs[i], Predicted(specs[i])};
      if (candidate.price.rate && Fits(candidate)) priced[i] = std::move(candidate);
    });
    if (limits_.simulated) limits_.simulated(specs.size());
    return priced;
  }

  bool Fits(const Candidate& candidate) const {
    if (limits_.fits && !limits_.fits(candidate.spec)) return false;
    return limits_.memory_bytes == 0 ||
           candidate.price.memory_bytes.value_or(0) <= limits_.memory_bytes;
  }

  // Of those that are as fast as the fastest the nearest to the start.
  std::optional<Candidate> BestOf(std::vector<std::optional<Candidate>> candidates) const {
    double fastest = 0;
    for (const auto& candidate : candidates) {
      if (candidate) fastest = std::max(fastest, Rate(*candidate));
    }
    std::optional<Candidate> best;
    for (auto& candidate : candidates) {
      if (!candidate || Rate(*candidate) * alike_ < fastest) continue;
      if (!best || Distance(candidate->spec) < Distance(best->spec)) best = std::move(candidate);
    }
    return best;
  }

  const Predictor& predictor_;
  const Spec& start_;
  const SearchLimits& limits_;
  const double alike_;
};

// The fastest first; of those that are alike an idea, which a report shows, then the nearest to
// the start.
void Rank(const Searcher& searcher, const std::vector<Spec>& ideas,
          std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return Searcher::Rate(a) > Searcher::Rate(b);
  });
  if (candidates.empty()) return;
  const double fastest = Searcher::Rate(candidates.front());
  const auto close = std::find_if(candidates.begin(), candidates.end(), [&](const auto& c) {
    return Searcher::Rate(c) * searcher.alike() < fastest;
  });
  const auto is_idea = [&](const Candidate& c) {
    return std::find(ideas.begin(), ideas.end(), c.spec) != ideas.end();
  };
  std::stable_sort(candidates.begin(), close, [&](const auto& a, const auto& b) {
    if (is_idea(a) != is_idea(b)) return is_idea(a);
    return searcher.Distance(a.spec) < searcher.Distance(b.spec);
  });
}

}  // namespace

std::vector<Candidate> Search(const Predictor& predictor, const Spec& start,
                              const std::vector<Patch>& ideas, const SearchLimits& limits) {
  Searcher searcher(predictor, start, limits);
  auto base = searcher.Start();
  if (!base.has_value()) return {};
  std::vector<Candidate> found;
  const auto keep = [&](Candidate candidate) {
    if (candidate.spec == base->spec) return;
    const auto same = [&](const Candidate& other) { return other.spec == candidate.spec; };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(std::move(candidate));
  };
  const Candidate climbed = searcher.Climb(*base);
  keep(searcher.Prune(climbed));
  std::optional<Candidate> best_idea;
  std::vector<Spec> shown;
  for (const Patch& idea : ideas) {
    const auto spec = Apply(start, idea);
    if (!spec.ok()) continue;
    shown.push_back(spec.value());
    auto candidate = searcher.Priced(spec.value());
    if (!candidate || searcher.Rate(*candidate) < searcher.Rate(*base) * searcher.alike()) continue;
    if (!best_idea || searcher.Rate(*candidate) > searcher.Rate(*best_idea)) best_idea = candidate;
    keep(std::move(*candidate));
  }
  if (best_idea.has_value()) keep(searcher.Prune(searcher.Climb(*best_idea)));
  if (auto generous =
          searcher.Priced(Generous(climbed.spec, limits.cores, limits.threads_of_job))) {
    keep(searcher.Prune(searcher.Climb(std::move(*generous))));
  }
  Rank(searcher, shown, found);
  found.push_back(std::move(*base));
  return found;
}

}  // namespace stallscope::replay
