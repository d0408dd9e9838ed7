// The way of a batch through the pipeline: the work done for it, and for the element in it that
// came last. Any thread once it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/attribution/track_view.h"
#include "analyzer/base/cancel.h"

namespace stallscope::attribution {

class ItemPaths {
 public:
  struct Node {
    TrackId track;
    size_t span = 0;
    Interval at;
  };

  // A batch that a step waits for until it is handed out.
  struct Awaited {
    ItemId batch;
    int64_t until_ns = 0;
  };

  // For the batches of these rows of Run::rows.steps. Gathers only what they need, with one look at
  // each span's item.
  ItemPaths(const model::Run& run, const std::vector<TrackView>& views,
            const std::vector<size_t>& step_rows, unsigned threads, Cancel cancel = {});

  // The work on the batch's last-arriving element and then on the batch, by end. Empty if the
  // trace does not have it.
  std::vector<Node> Of(ItemId batch) const;
  // What a step waits for, one batch after the other: its own, and before it those that it takes
  // beside that.
  std::vector<Awaited> AwaitedWith(ItemId batch) const;
  // The work on that item alone.
  const std::vector<Node>& WorkOn(ItemId item) const;

 private:
  void FindOthers(const model::Run& run);
  std::vector<ItemId> Chain(ItemId batch) const;

  std::unordered_map<uint64_t, ItemId> last_arrival_;          // by batch
  std::unordered_map<uint64_t, std::vector<Awaited>> before_;  // by a step's batch, in order
  std::unordered_map<uint64_t, std::vector<Node>> work_;       // by item, of the needed ones
};

}  // namespace stallscope::attribution
