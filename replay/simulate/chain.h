// The stages that work in a group's threads, asked for one item after another: what one request
// costs and how many items it takes from below. Private to the room; one thread.
//
// Its state belongs to the group, not to the thread that asks: only one asks at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>
#include "analyzer/base/splitmix.h"
#include "replay/simulate/model_constants.h"
#include "replay/workload/workload.h"

#include "replay/simulate/network.h"

namespace stallscope::replay {

// An endless stream of costs like the recorded ones: blocks of them, from random places.
//
// Blocks rather than single items keep neighbors together: one slow element in 64 stays one in 64,
// slow shards stay contiguous. Streams with the same seed draw the same places, so an element that
// is large is large in every stage.
class CostStream {
 public:
  // The costs must outlive it. Nothing costs nothing.
  CostStream(const std::vector<Cost>& costs, uint64_t seed)
      : costs_(costs.data()),
        size_(costs.size()),
        block_(std::max<uint64_t>(kLeastDrawBlock, costs.size() / kDrawBlocks)),
        random_(seed) {}

  Cost Next() {
    if (size_ == 0) return {};
    if (left_ == 0) Jump();
    --left_;
    const Cost cost = costs_[at_];
    if (++at_ == size_) at_ = 0;
    return cost;
  }

 private:
  void Jump() {
    left_ = block_;
    at_ = random_.Below(size_);
  }

  const Cost* costs_;
  uint64_t size_;
  uint64_t block_;
  uint64_t left_ = 0;
  uint64_t at_ = 0;
  SplitMix64 random_;
};

// What a thread owes before it can go on.
struct Debt {
  double first_ns = 0;  // CPU time before anything else
  double cpu_ns = 0;
  double off_ns = 0;  // sleeps and reads
  uint64_t io_bytes = 0;
  bool idle = false;     // the thread was, before what it does next
  double since_ns = -1;  // when the thread began to pay; the disk works meanwhile

  double ns() const { return cpu_ns + off_ns; }
  bool none() const { return first_ns + cpu_ns + off_ns == 0 && io_bytes == 0; }
};

// What a stage has done.
struct StageTally {
  double busy_ns = 0;
  uint64_t items = 0;
  uint64_t after_idle = 0;  // of these, in a thread that had been idle
};

// One hop with its place in the stream of recorded costs.
class HopCosts {
 public:
  HopCosts(const Hop& hop, uint64_t seed);
  void AddTo(Debt& debt, std::vector<StageTally>& tallies) {
    const Cost cost = stream_.Next();
    double cpu = std::max(0.0, static_cast<double>(cost.cpu_ns) * scale_ + more_cpu_ns_);
    StageTally& tally = tallies[stage_];
    ++tally.items;
    if (debt.idle) {
      cpu *= after_idle_;
      ++tally.after_idle;
    }
    const double blocked =
        std::max(0.0, static_cast<double>(cost.blocked_ns) * scale_ + more_blocked_ns_);
    const double off = blocked + static_cast<double>(cost.io_ns) * io_scale_;
    debt.cpu_ns += cpu;
    debt.off_ns += off;
    debt.io_bytes += io_bytes_;
    tally.busy_ns += cpu + off;
    if (cpu + off > kWarmsNs) debt.idle = off >= kIdleNs;
  }

 private:
  CostStream stream_;
  double scale_;
  double io_scale_;
  double after_idle_;
  double more_cpu_ns_;
  double more_blocked_ns_;
  uint64_t io_bytes_;
  uint32_t stage_;
};

class Chain {
 public:
  Chain(const std::vector<Hop>& hops, bool has_input, uint64_t seed);

  // Goes as far as it can without another item from below. True: an item has come out at the top.
  // False: it needs one, and must be called again with `taken` once there is one; a chain with a
  // source of its own never does.
  bool Advance(bool taken, Debt& debt, std::vector<StageTally>& tallies);

 private:
  struct Place {
    Hop::Kind kind;
    HopCosts costs;
    HopCosts hits;
    double kept;
    uint64_t size;
    uint64_t epoch;
    uint64_t held = 0;    // kBatch, kShuffle: items
    uint64_t passed = 0;  // kShuffle: taken in this pass; kCache: kept, kFilter: for its share
  };

  bool GivesByItself(Place& place, Debt& debt, std::vector<StageTally>& tallies);
  // False: the item goes no further.
  bool Passes(Place& place, Debt& debt, std::vector<StageTally>& tallies);

  std::vector<Place> places_;
  bool has_input_;
  SplitMix64 random_;
};

}  // namespace stallscope::replay
