#include "analyzer/attribution/item_paths.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analyzer/base/thread.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::attribution {
namespace {

constexpr size_t kMostNested = 8;  // batches of batches of batches

// Quickly rules out most items that are not in the set: 64 bits per entry, of which two are read.
class MaybeSet {
 public:
  explicit MaybeSet(size_t entries) {
    size_t words = 64;
    while (words < entries) words *= 2;
    bits_.resize(words);
  }
  void Add(uint64_t item) {
    const auto [word, mask] = Place(item);
    bits_[word] |= mask;
  }
  bool MayHave(uint64_t item) const {
    const auto [word, mask] = Place(item);
    return (bits_[word] & mask) == mask;
  }

 private:
  std::pair<size_t, uint64_t> Place(uint64_t item) const {
    const uint64_t mixed = item * 0x9e3779b97f4a7c15u;
    return {static_cast<size_t>(mixed >> 20) & (bits_.size() - 1),
            uint64_t{1} << (mixed >> 58) | uint64_t{1} << (mixed >> 52 & 63)};
  }
  std::vector<uint64_t> bits_;
};

}  // namespace

ItemPaths::ItemPaths(const model::Run& run, const std::vector<TrackView>& views,
                     const std::vector<size_t>& step_rows, unsigned threads, Cancel cancel) {
  for (const trace::Batch& batch : run.rows.batches) {
    if (batch.batch.known() && batch.last_arrival.known()) {
      last_arrival_.emplace(batch.batch.value, batch.last_arrival);
    }
  }
  FindOthers(run);
  for (const size_t row : step_rows) {
    for (const Awaited& each : AwaitedWith(run.rows.steps[row].batch)) {
      for (const ItemId item : Chain(each.batch)) work_[item.value];
    }
  }
  MaybeSet needed(work_.size());
  for (const auto& [item, nodes] : work_) needed.Add(item);

  std::vector<std::vector<Node>> found(views.size());
  ForEachParallel(views.size(), threads, [&](size_t t) {
    const trace::SpanColumns& spans = views[t].track().spans;
    for (size_t i = 0; i < spans.size(); ++i) {
      if (i % kAskEvery == 0 && cancel.requested()) return;
      const uint64_t item = spans.item[i];
      if (!needed.MayHave(item) || work_.count(item) == 0) continue;
      if (views[t].ClassOf(i).kind != trace::SpanKind::kWork) continue;
      found[t].push_back({TrackId{static_cast<uint32_t>(t)}, i, views[t].At(i)});
    }
  });
  for (size_t t = 0; t < views.size(); ++t) {
    for (const Node& node : found[t]) {
      work_[views[t].track().spans.item[node.span]].push_back(node);
    }
  }
}

void ItemPaths::FindOthers(const model::Run& run) {
  const auto others = model::OtherBatches(run);
  if (others.empty()) return;
  std::unordered_map<uint64_t, int64_t> released;
  for (const trace::Release& release : run.rows.releases) {
    released[release.item.value] = release.released_ns;
  }
  for (const auto& [batch, more] : others) {
    std::vector<Awaited>& before = before_[batch];
    for (const ItemId other : more) {
      const auto at = released.find(other.value);
      if (at != released.end()) before.push_back({other, at->second});
    }
    std::sort(before.begin(), before.end(),
              [](const Awaited& a, const Awaited& b) { return a.until_ns < b.until_ns; });
  }
}

std::vector<ItemPaths::Awaited> ItemPaths::AwaitedWith(ItemId batch) const {
  const auto before = before_.find(batch.value);
  std::vector<Awaited> all = before == before_.end() ? std::vector<Awaited>() : before->second;
  all.push_back({batch, std::numeric_limits<int64_t>::max()});
  return all;
}

std::vector<ItemId> ItemPaths::Chain(ItemId batch) const {
  std::vector<ItemId> chain;
  for (ItemId item = batch; item.known() && chain.size() < kMostNested;) {
    chain.push_back(item);
    const auto last = last_arrival_.find(item.value);
    item = last == last_arrival_.end() ? ItemId::None() : last->second;
  }
  return chain;
}

std::vector<ItemPaths::Node> ItemPaths::Of(ItemId batch) const {
  std::vector<Node> path;
  for (const ItemId item : Chain(batch)) {
    const auto nodes = work_.find(item.value);
    if (nodes != work_.end()) path.insert(path.end(), nodes->second.begin(), nodes->second.end());
  }
  // By end: from the end backwards the next piece is then always the one that lasts longest, and
  // between two of them nobody worked on it. By start, what is nested would hide what is around it.
  std::stable_sort(path.begin(), path.end(), [](const Node& a, const Node& b) {
    return std::pair(a.at.end_ns, a.at.start_ns) < std::pair(b.at.end_ns, b.at.start_ns);
  });
  return path;
}

const std::vector<ItemPaths::Node>& ItemPaths::WorkOn(ItemId item) const {
  static const std::vector<Node> kNone;
  const auto nodes = work_.find(item.value);
  return nodes == work_.end() ? kNone : nodes->second;
}

}  // namespace stallscope::attribution
