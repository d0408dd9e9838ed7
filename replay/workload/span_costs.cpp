#include "replay/workload/span_costs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "analyzer/attribution/track_view.h"
#include "analyzer/base/math.h"

namespace stallscope::replay {
namespace {

constexpr int64_t kLongestGapNs = 100'000;
// Clocks are read one after the other: less than this part of a span off the CPU says nothing.
constexpr double kNoise = 0.03;
// Items after an idle time, or in a row, that show what they cost.
constexpr size_t kLeastOfAKind = 30;
constexpr double kSignificant = 2.5;      // standard errors
constexpr double kMostIdleFactor = 1.6;   // beyond it something else differs
constexpr size_t kMostSpans = 2'000'000;  // that are looked at; a longer run tells no more

struct Item {
  int64_t start_ns = 0;
  int64_t own_ns = 0;
  int64_t io_ns = 0;
  int64_t cpu_ns = -1;  // not taken
  int64_t idle_ns = 0;  // of its thread, just before
  bool in_window = false;
};

// Walks over the spans of one track; those inside another one come before it.
class TrackPass {
 public:
  TrackPass(const attribution::TrackView& view, attribution::Interval window, int64_t from_ns)
      : view_(view), spans_(view.track().spans), window_(window), from_ns_(from_ns) {}

  void Run(std::vector<std::vector<Item>>& items, std::vector<double>& gap_ns) {
    const StageId own = view_.track().info.stage;
    work_end_ns_ = from_ns_;
    int64_t group_start = INT64_MAX;
    int64_t last_end = INT64_MIN;
    for (size_t i = view_.FirstEndingAfter(from_ns_); i < spans_.size(); ++i) {
      const attribution::Interval at = view_.At(i);
      Add(i, at, items);
      group_start = std::min(group_start, at.start_ns);
      if (!view_.Final(i)) continue;
      open_.clear();
      if (own.known() && own.value < gap_ns.size() && last_end > window_.start_ns &&
          at.end_ns <= window_.end_ns) {
        const int64_t gap = std::clamp<int64_t>(group_start - last_end, 0, kLongestGapNs);
        gap_ns[own.value] += static_cast<double>(gap);
      }
      last_end = at.end_ns;
      group_start = INT64_MAX;
    }
  }

 private:
  struct Open {
    int64_t start_ns;
    int64_t ns;
    int64_t io_ns;
  };

  void Add(size_t i, attribution::Interval at, std::vector<std::vector<Item>>& items) {
    int64_t inside = 0;
    int64_t io = 0;
    while (!open_.empty() && open_.back().start_ns >= at.start_ns) {
      inside += open_.back().ns;
      io += open_.back().io_ns;
      open_.pop_back();
    }
    const trace::SpanClass& what = view_.ClassOf(i);
    if (what.kind == trace::SpanKind::kWait) {
      const bool reads = what.cause == trace::WaitCause::kIo;
      open_.push_back({at.start_ns, at.ns(), reads ? at.ns() : io});
      return;
    }
    open_.push_back({at.start_ns, at.ns(), 0});
    if (!what.stage.known() || what.stage.value >= items.size()) return;
    Item item;
    item.start_ns = at.start_ns;
    item.own_ns = std::max<int64_t>(0, at.ns() - inside);
    item.io_ns = io;
    if (!spans_.cpu_ns.empty() && spans_.cpu_ns[i] != 0) {
      item.cpu_ns = std::min(static_cast<int64_t>(spans_.cpu_ns[i]), item.own_ns);
    }
    item.idle_ns = std::max<int64_t>(0, at.start_ns - work_end_ns_);
    if (static_cast<double>(item.own_ns) > kWarmsNs) {
      // A span that mostly slept leaves its thread as cold as a wait does.
      const bool slept = item.cpu_ns >= 0 && 2 * item.cpu_ns < item.own_ns;
      work_end_ns_ = at.end_ns - (slept ? item.own_ns - item.cpu_ns : 0);
    }
    item.in_window = at.start_ns >= window_.start_ns && at.end_ns <= window_.end_ns;
    items[what.stage.value].push_back(item);
  }

  const attribution::TrackView& view_;
  const trace::SpanColumns& spans_;
  const attribution::Interval window_;
  const int64_t from_ns_;
  std::vector<Open> open_;
  int64_t work_end_ns_ = 0;  // of the last work that kept the core busy
};

}  // namespace

Shares SharesOf(const attribution::StageUse& use) {
  Shares shares;
  const auto off = static_cast<double>(use.contention_ns + use.blocked_ns);
  const auto all = static_cast<double>(use.cpu_ns) + off;
  if (all > 0) shares.cpu = static_cast<double>(use.cpu_ns) / all;
  if (off > 0) shares.contention = static_cast<double>(use.contention_ns) / off;
  return shares;
}

Cost CostOf(double own_ns, double cpu_ns, double io_ns, const Shares& shares) {
  double cpu = cpu_ns >= 0 ? cpu_ns : own_ns * shares.cpu;
  if (own_ns - cpu < kNoise * own_ns) cpu = own_ns;
  Cost cost;
  cost.cpu_ns = static_cast<float>(cpu);
  cost.blocked_ns = static_cast<float>((own_ns - cpu) * (1 - shares.contention));
  cost.io_ns = static_cast<float>(io_ns);
  return cost;
}

namespace {

// A median with its standard error.
struct Middle {
  double value = 0;
  double error = 0;
};

Middle MiddleOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double spread = (Quantile(values, 0.75) - Quantile(values, 0.25)) / 1.35;
  return {Quantile(values, 0.5), 1.25 * spread / std::sqrt(static_cast<double>(values.size()))};
}

// By the medians, which a few interrupted items do not move.
IdleEffect EffectOf(const std::vector<Item>& items) {
  std::vector<double> idle;
  std::vector<double> busy;
  for (const Item& item : items) {
    if (item.cpu_ns <= 0) continue;
    const bool was_idle = static_cast<double>(item.idle_ns) >= kIdleNs;
    (was_idle ? idle : busy).push_back(static_cast<double>(item.cpu_ns));
  }
  IdleEffect effect;
  const size_t all = idle.size() + busy.size();
  if (all > 0) effect.share = static_cast<double>(idle.size()) / static_cast<double>(all);
  if (std::min(idle.size(), busy.size()) < kLeastOfAKind) return effect;
  effect.shown = true;
  const Middle after_idle = MiddleOf(std::move(idle));
  const Middle in_a_row = MiddleOf(std::move(busy));
  if (in_a_row.value <= 0) return effect;
  const double factor = after_idle.value / in_a_row.value;
  const double error =
      factor * std::hypot(after_idle.error / after_idle.value, in_a_row.error / in_a_row.value);
  if (std::abs(factor - 1) > kSignificant * error) {
    effect.factor = std::clamp(factor, 1 / kMostIdleFactor, kMostIdleFactor);
  }
  return effect;
}

}  // namespace

SpanCosts CostsOfSpans(const model::Run& run, const attribution::Attribution& attribution,
                       size_t most) {
  const attribution::Interval window{attribution.window.start_ns, attribution.window.end_ns};
  const model::TimeRange whole = model::WindowOf(run);
  const uint64_t spans = model::CountSpans(run);
  int64_t from = whole.start_ns;
  if (spans > kMostSpans) {
    const double share = static_cast<double>(kMostSpans) / static_cast<double>(spans);
    from = whole.end_ns -
           static_cast<int64_t>(share * static_cast<double>(whole.end_ns - whole.start_ns));
  }
  std::vector<std::vector<Item>> items(run.stages.size());
  SpanCosts costs;
  costs.gap_ns.resize(run.stages.size());
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kThread || track.spans.size() == 0) continue;
    const attribution::TrackView view(run, track);
    TrackPass(view, window, from).Run(items, costs.gap_ns);
  }
  costs.items.resize(run.stages.size());
  for (size_t stage = 0; stage < items.size(); ++stage) {
    std::vector<Item>& all = items[stage];
    const bool any = std::any_of(all.begin(), all.end(), [](const Item& i) { return i.in_window; });
    if (any) {
      all.erase(std::remove_if(all.begin(), all.end(), [](const Item& i) { return !i.in_window; }),
                all.end());
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Item& a, const Item& b) { return a.start_ns < b.start_ns; });
    const Shares shares =
        stage < attribution.stages.size() ? SharesOf(attribution.stages[stage]) : Shares();
    const size_t first = all.size() > most ? all.size() - most : 0;
    costs.idle.push_back(EffectOf(all));
    for (size_t i = first; i < all.size(); ++i) {
      Cost cost = CostOf(static_cast<double>(all[i].own_ns), static_cast<double>(all[i].cpu_ns),
                         static_cast<double>(all[i].io_ns), shares);
      if (static_cast<double>(all[i].idle_ns) >= kIdleNs) {
        cost.cpu_ns /= static_cast<float>(costs.idle.back().factor);
      }
      costs.items[stage].push_back(cost);
    }
  }
  return costs;
}

}  // namespace stallscope::replay
