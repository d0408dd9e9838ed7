#include "gui/session/item_path.h"

#include <algorithm>

namespace stallscope::session {
namespace {

// An item becomes another one in each shuffle, filter, repeat and batch at most; more go in
// circles.
constexpr int kMostHops = 32;

bool Has(const std::vector<ItemId>& items, ItemId item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

// Batches that one step takes are not made from one another.
bool IsOfSteps(const model::Run& run, const trace::Lineage& line) {
  return model::IsTrainer(run, line.stage);
}

// What the item was made from: of a batch the element that came last.
ItemId SourceOf(const model::Run& run, ItemId item) {
  for (const trace::Batch& batch : run.rows.batches) {
    if (batch.batch == item && batch.last_arrival.known()) return batch.last_arrival;
  }
  for (const trace::Lineage& line : run.rows.lineage) {
    if (line.out == item && line.in != item && !IsOfSteps(run, line)) return line.in;
  }
  return ItemId::None();
}

ItemId ProductOf(const model::Run& run, ItemId item) {
  for (const trace::Lineage& line : run.rows.lineage) {
    if (line.in == item && line.out != item && !IsOfSteps(run, line)) return line.out;
  }
  for (const trace::Batch& batch : run.rows.batches) {
    if (batch.last_arrival == item) return batch.batch;
  }
  return ItemId::None();
}

// From the element as it was read to the batch that it went into.
std::vector<ItemId> ChainOf(const model::Run& run, ItemId item) {
  std::vector<ItemId> chain = {item};
  for (int hop = 0; hop < kMostHops; ++hop) {
    const ItemId from = SourceOf(run, chain.front());
    if (!from.known() || Has(chain, from)) break;
    chain.insert(chain.begin(), from);
  }
  for (int hop = 0; hop < kMostHops; ++hop) {
    const ItemId into = ProductOf(run, chain.back());
    if (!into.known() || Has(chain, into)) break;
    chain.push_back(into);
  }
  return chain;
}

void AddSpans(const model::Run& run, const std::vector<ItemId>& chain, ItemPath& path) {
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const ItemId item{track.spans.item[i]};
      if (!item.known() || !Has(chain, item)) continue;
      const trace::SpanClass& what = run.ClassOf(track, i);
      if (what.kind != trace::SpanKind::kWork) continue;
      const StageId stage = what.stage.known() ? what.stage : track.info.stage;
      path.stops.push_back({{IntervalKind::kSpan, track.info.id, i},
                            item,
                            {track.spans.start_ns[i], track.spans.EndNs(i)},
                            std::string(run.NameOf(stage)) + " on " + track.info.name});
    }
  }
}

// Copies one by one; of the kernels the whole stretch, because a step has thousands.
void AddDeviceWork(const model::Run& run, const std::vector<ItemId>& chain, ItemPath& path) {
  for (size_t i = 0; i < run.rows.copies.size(); ++i) {
    const trace::Copy& copy = run.rows.copies[i];
    if (!copy.batch.known() || !Has(chain, copy.batch)) continue;
    path.stops.push_back({{IntervalKind::kCopy, copy.track, i},
                          copy.batch,
                          {copy.start_ns, copy.end_ns},
                          "copy on " + std::string(run.NameOf(copy.track))});
  }
  std::optional<PathStop> kernels;
  uint64_t count = 0;
  for (size_t i = 0; i < run.rows.kernels.size(); ++i) {
    const trace::Kernel& kernel = run.rows.kernels[i];
    if (!kernel.batch.known() || !Has(chain, kernel.batch)) continue;
    ++count;
    if (!kernels.has_value()) {
      kernels = PathStop{{IntervalKind::kKernel, kernel.track, i},
                         kernel.batch,
                         {kernel.start_ns, kernel.end_ns},
                         ""};
    }
    kernels->when.start_ns = std::min(kernels->when.start_ns, kernel.start_ns);
    kernels->when.end_ns = std::max(kernels->when.end_ns, kernel.end_ns);
  }
  if (!kernels.has_value()) return;
  kernels->what = std::to_string(count) + (count == 1 ? " kernel on " : " kernels on ") +
                  std::string(run.NameOf(kernels->at.track));
  path.stops.push_back(*kernels);
}

}  // namespace

ItemPath PathOf(const model::Run& run, ItemId item) {
  ItemPath path;
  path.item = item;
  if (!item.known()) return path;
  const std::vector<ItemId> chain = ChainOf(run, item);
  for (const trace::Element& element : run.rows.elements) {
    if (!Has(chain, element.item)) continue;
    path.file = run.Text(element.file);
    path.record = element.record;
    path.bytes = element.bytes;
    break;
  }
  AddSpans(run, chain, path);
  AddDeviceWork(run, chain, path);
  std::stable_sort(path.stops.begin(), path.stops.end(), [](const PathStop& a, const PathStop& b) {
    return a.when.start_ns < b.when.start_ns;
  });
  for (size_t row = 0; row < run.rows.steps.size(); ++row) {
    if (Has(chain, run.rows.steps[row].batch)) path.step = row;
  }
  return path;
}

}  // namespace stallscope::session
