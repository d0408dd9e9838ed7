// The blame walk: what a thread was waiting for, followed from thread to thread. METHOD.md has the
// rules.
//
// It starts from the way of the awaited batch through the pipeline (ItemPaths) and shares an
// interval out over stages and causes, exactly. A thread that works is explained by its work; one
// that waits for an element by the thread that brought it; one that waits for its turn by the one
// whose turn it was. Any thread once it is made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/attribution/item_paths.h"
#include "analyzer/attribution/stage_work.h"
#include "analyzer/attribution/track_view.h"
#include "analyzer/base/cancel.h"

namespace stallscope::attribution {

// Nanoseconds by stage and cause, of which there are few, and by the element that was worked on.
class Shares {
 public:
  struct Share {
    StageId stage;
    Cause cause = Cause::kUnknown;
    int64_t ns = 0;
  };
  struct Item {
    ItemId item;
    StageId stage;
    int64_t ns = 0;
  };

  void Add(StageId stage, Cause cause, int64_t ns);
  void AddItem(ItemId item, StageId stage, int64_t ns);
  // All of `other` divided by `count`, remainders to the lowest stages and causes.
  void AddMean(const Shares& other, int64_t count);
  const std::vector<Share>& shares() const { return shares_; }
  // The element and stage with the most.
  std::optional<Item> Heaviest() const;

  // Where each nanosecond was found, for drawing. Nothing is kept without a list.
  void KeepLinks(std::vector<ChainLink>* links) { links_ = links; }
  std::vector<ChainLink>* links() const { return links_; }
  void Link(TrackId track, StageId stage, Cause cause, Interval part, int depth,
            trace::StringId op = {});

 private:
  std::vector<Share> shares_;
  std::vector<Item> items_;
  std::vector<ChainLink>* links_ = nullptr;
};

class BlameWalk {
 public:
  BlameWalk(const model::Run& run, const std::vector<TrackView>& views, const WorkSplit& split,
            const ItemPaths& paths);

  // `path` is the awaited batch's way; `waiting` the track that waited for it.
  void ExplainStall(const std::vector<ItemPaths::Node>& path, TrackId waiting, Interval stall,
                    Shares& shares) const;

 private:
  // The same without the time in which the workers start or end.
  void ExplainWay(const std::vector<ItemPaths::Node>& path, TrackId waiting, Interval stall,
                  Shares& shares) const;
  void Explain(TrackId track, Interval range, int depth, Shares& shares) const;
  void ExplainWork(const TrackView& view, size_t span, Interval part, int depth,
                   Shares& shares) const;
  // What of a part goes to the threads that held the interpreter meanwhile; the rest of it stays in
  // `split`.
  void ExplainHeld(const TrackView& view, size_t span, Interval part, int depth, Split& split,
                   Shares& shares) const;
  // All of a part for one cause.
  static void Give(const TrackView& view, StageId stage, Cause cause, Interval part, int depth,
                   Shares& shares);
  void ExplainWait(const TrackView& view, size_t span, Interval part, int depth,
                   Shares& shares) const;
  void ExplainEmpty(const TrackView& view, size_t span, Interval part, int depth,
                    Shares& shares) const;
  void ExplainTurn(const TrackView& view, QueueId lock, Interval part, int depth,
                   Shares& shares) const;
  void ExplainWorkers(const std::vector<TrackId>& workers, Interval part, int depth,
                      Shares& shares) const;
  TrackId OneThatWaits(const std::vector<TrackId>& workers, Interval piece) const;
  void ExplainHead(StageId stage, TrackId head, Interval part, int depth, Shares& shares) const;
  // Where order keeps at least half of the stage's other workers waiting.
  Intervals HeldByOrder(StageId stage, const TrackView& head, Interval part) const;
  void ExplainGap(const TrackView& view, size_t after, Interval part, int depth,
                  Shares& shares) const;
  // The threads of a stage that work for the same rank as this track: another rank's never bring
  // what this one waits for.
  const std::vector<TrackId>& TracksOf(StageId stage, const TrackView& view) const;

  const model::Run& run_;
  const std::vector<TrackView>& views_;
  const WorkSplit& split_;
  const ItemPaths& paths_;
  std::map<std::pair<StageId, uint32_t>, std::vector<TrackId>> tracks_;  // by stage and rank
  std::map<ProcessId, std::vector<TrackId>> threads_;                    // of stages, by process
  bool has_startup_ = false;  // only jobs wait for workers to start
};

}  // namespace stallscope::attribution
