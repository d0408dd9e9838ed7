#include "replay/simulate/chain.h"

namespace stallscope::replay {
namespace {

const std::vector<Cost> kNothing;

Hop HitsOf(const Hop& hop) {
  Hop hits = hop;
  hits.costs = hop.hits;
  hits.more_cpu_ns = hop.hit_cpu_ns;
  hits.more_blocked_ns = 0;
  hits.io_bytes = 0;
  return hits;
}

}  // namespace

HopCosts::HopCosts(const Hop& hop, uint64_t seed)
    : stream_(hop.costs != nullptr ? *hop.costs : kNothing, seed),
      scale_(hop.scale),
      // What comes through the throttled disk takes what that takes.
      io_scale_(hop.io_bytes != 0 ? 0 : hop.io_scale),
      after_idle_(hop.after_idle),
      more_cpu_ns_(hop.more_cpu_ns),
      more_blocked_ns_(hop.more_blocked_ns),
      io_bytes_(hop.io_bytes),
      stage_(hop.stage) {}

Chain::Chain(const std::vector<Hop>& hops, bool has_input, uint64_t seed)
    : has_input_(has_input), random_(seed ^ 0x5eed) {
  places_.reserve(hops.size());
  for (const Hop& hop : hops) {
    places_.push_back({hop.kind, HopCosts(hop, seed), HopCosts(HitsOf(hop), seed), hop.kept,
                       hop.size, hop.epoch});
  }
}

bool Chain::GivesByItself(Place& place, Debt& debt, std::vector<StageTally>& tallies) {
  if (place.kind == Hop::Kind::kShuffle) {
    const bool ended = place.epoch != 0 && place.passed >= place.epoch;
    if (place.held == 0 || (place.held < place.size && !ended)) return false;
    if (--place.held == 0 && ended) place.passed = 0;
    return true;
  }
  if (place.kind == Hop::Kind::kCache && place.epoch != 0 && place.passed >= place.epoch) {
    place.hits.AddTo(debt, tallies);
    return true;
  }
  return false;
}

bool Chain::Passes(Place& place, Debt& debt, std::vector<StageTally>& tallies) {
  switch (place.kind) {
    case Hop::Kind::kWork:
      place.costs.AddTo(debt, tallies);
      return true;
    case Hop::Kind::kFilter:
      place.costs.AddTo(debt, tallies);
      return random_.Fraction() < place.kept;
    case Hop::Kind::kBatch:
      if (++place.held < place.size) return false;
      place.held = 0;
      place.costs.AddTo(debt, tallies);
      return true;
    case Hop::Kind::kShuffle:
      ++place.held;
      ++place.passed;
      return false;
    case Hop::Kind::kCache:
      ++place.passed;
      place.costs.AddTo(debt, tallies);
      return true;
  }
  return true;
}

bool Chain::Advance(bool taken, Debt& debt, std::vector<StageTally>& tallies) {
  for (;;) {
    size_t at = 0;
    if (!taken) {
      at = places_.size();
      while (at > 0 && !GivesByItself(places_[at - 1], debt, tallies)) --at;
      if (at == 0 && has_input_) return false;
    }
    taken = false;
    while (at < places_.size() && Passes(places_[at], debt, tallies)) ++at;
    if (at == places_.size()) return true;
  }
}

}  // namespace stallscope::replay
