// The way of a batch through the pipeline: the work done for it and for the element in it that
// came last. Any thread once it is made.
#ifndef STALLSCOPE_ANALYZER_ATTRIBUTION_ITEM_PATHS_H_
#define STALLSCOPE_ANALYZER_ATTRIBUTION_ITEM_PATHS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/attribution/track_view.h"

namespace stallscope::attribution {

class ItemPaths {
 public:
  struct Node {
    TrackId track;
    size_t span = 0;
    Interval at;
  };

  // Of the batches of these rows of Run::rows.steps. Only what they need is gathered: one look at
  // each span's item.
  ItemPaths(const model::Run& run, const std::vector<TrackView>& views,
            const std::vector<size_t>& step_rows, unsigned threads);

  // The work on the batch's last-arriving element and then on the batch, by end. Empty where the
  // trace does not have it.
  std::vector<Node> Of(ItemId batch) const;

 private:
  std::vector<ItemId> Chain(ItemId batch) const;

  std::unordered_map<uint64_t, ItemId> last_arrival_;     // by batch
  std::unordered_map<uint64_t, std::vector<Node>> work_;  // by item, of the needed ones
};

}  // namespace stallscope::attribution

#endif  // STALLSCOPE_ANALYZER_ATTRIBUTION_ITEM_PATHS_H_
