#include "analyzer/importers/foreign/span_order.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/base/column.h"

namespace stallscope::importers {
namespace {

using trace::SpanColumns;

struct Key {
  int64_t end_ns;
  uint32_t index;
};

class Order {
 public:
  explicit Order(const SpanColumns& spans) : spans_(spans) {}

  bool Before(const Key& a, const Key& b) const {
    if (a.end_ns != b.end_ns) return a.end_ns < b.end_ns;
    const int64_t start_a = spans_.start_ns[a.index];
    const int64_t start_b = spans_.start_ns[b.index];
    return start_a != start_b ? start_a > start_b : a.index > b.index;
  }

  bool Holds() const {
    for (size_t i = 1; i < spans_.size(); ++i) {
      if (!Before(At(i - 1), At(i))) return false;
    }
    return true;
  }

  // The indices in order. Spans that follow each other by start are a run: going through it with a
  // stack of those that are still open gives them by end. Runs are merged pairwise.
  Column<Key> Sorted() const {
    Column<Key> keys;
    keys.reserve(spans_.size());
    std::vector<size_t> bounds = {0};
    while (bounds.back() < spans_.size()) bounds.push_back(AddRun(bounds.back(), keys));
    const auto before = [this](const Key& a, const Key& b) { return Before(a, b); };
    while (bounds.size() > 2) {
      std::vector<size_t> merged = {0};
      for (size_t i = 2; i < bounds.size(); i += 2) {
        std::inplace_merge(keys.begin() + Offset(bounds[i - 2]),
                           keys.begin() + Offset(bounds[i - 1]), keys.begin() + Offset(bounds[i]),
                           before);
        merged.push_back(bounds[i]);
      }
      if (bounds.size() % 2 == 0) merged.push_back(bounds.back());
      bounds = std::move(merged);
    }
    return keys;
  }

 private:
  static std::ptrdiff_t Offset(size_t i) { return static_cast<std::ptrdiff_t>(i); }
  Key At(size_t i) const { return {spans_.EndNs(i), static_cast<uint32_t>(i)}; }

  // Appends the run that begins at `first`; returns where the next one begins.
  size_t AddRun(size_t first, Column<Key>& keys) const {
    std::vector<Key> open;
    bool sorted = true;
    const size_t begin = keys.size();
    const auto emit = [&](const Key& key) {
      sorted = sorted && (keys.size() == begin || Before(keys.back(), key));
      keys.push_back(key);
    };
    size_t i = first;
    for (; i < spans_.size(); ++i) {
      const int64_t start = spans_.start_ns[i];
      if (i > first && start < spans_.start_ns[i - 1]) break;
      const Key key = At(i);
      while (!open.empty() && open.back().end_ns <= start && Before(open.back(), key)) {
        emit(open.back());
        open.pop_back();
      }
      open.push_back(key);
    }
    for (; !open.empty(); open.pop_back()) emit(open.back());
    if (!sorted) {
      std::sort(keys.begin() + Offset(begin), keys.end(),
                [this](const Key& a, const Key& b) { return Before(a, b); });
    }
    return i;
  }

  const SpanColumns& spans_;
};

template <class Values>
void Permute(const Column<Key>& order, Values& values) {
  if (values.empty()) return;
  Values permuted;
  permuted.reserve(values.size());
  for (const Key& key : order) permuted.push_back(values[key.index]);
  values = std::move(permuted);
}

}  // namespace

void OrderSpans(SpanColumns& spans) {
  spans.PadOptional();
  const Order order(spans);
  if (order.Holds()) return;
  const Column<Key> keys = order.Sorted();
  if (!spans.long_durations.empty()) {
    std::vector<uint32_t> place(spans.size());
    for (size_t i = 0; i < keys.size(); ++i) place[keys[i].index] = static_cast<uint32_t>(i);
    for (auto& [index, ns] : spans.long_durations) index = place[index];
    std::sort(spans.long_durations.begin(), spans.long_durations.end());
  }
  Permute(keys, spans.start_ns);
  Permute(keys, spans.duration);
  Permute(keys, spans.span_class);
  Permute(keys, spans.item);
  Permute(keys, spans.bytes);
  Permute(keys, spans.cpu_ns);
  Permute(keys, spans.waker);
}

}  // namespace stallscope::importers
