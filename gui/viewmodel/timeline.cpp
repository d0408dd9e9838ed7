#include "gui/viewmodel/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analyzer/base/thread.h"
#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"

namespace stallscope::viewmodel {
namespace {

constexpr float kNameCharacters = 24;
constexpr float kHeaderLines = 2;  // of the ticks, above the lanes
constexpr float kTickCharacters = 12;
constexpr size_t kMostBands = 400;
constexpr float kThinnestBand = 1.5F;

// The inputs of drawn rows: while they are the same, rows are kept.
struct PictureKey {
  session::RunNumber run = session::kNoRun;
  uint64_t revision = 0;
  const void* devices = nullptr;
  session::Range visible;
  int width = 0;
  float character = 0;
  bool operator==(const PictureKey&) const = default;
};

struct PlanKey {
  session::RunNumber run = session::kNoRun;
  uint64_t revision = 0;
  const void* devices = nullptr;
  std::set<std::string> collapsed;
  bool operator==(const PlanKey&) const = default;
};

class Marks {
 public:
  Marks(TimelineModel& model, const session::State& state, const session::OpenRun& open)
      : model_(model), state_(state), open_(open) {}

  void Add() {
    AddStalls();
    AddProbes();
    AddChain();
    AddPath();
    AddSelected();
    if (state_.measured.has_value()) {
      model_.measured = Extent(*state_.measured);
      model_.measured_text = MeasuredText(*state_.measured);
    }
    if (state_.view.range.has_value()) model_.range = Extent(*state_.view.range);
    for (const session::Bookmark& bookmark : state_.bookmarks) {
      const int64_t middle = bookmark.visible.start_ns + bookmark.visible.ns() / 2;
      if (middle < model_.visible.start_ns || middle > model_.visible.end_ns) continue;
      model_.bookmarks.emplace_back(X(middle), bookmark.name);
    }
  }

 private:
  float X(int64_t time_ns) const {
    return static_cast<float>(
        std::clamp(XAtTime(model_, time_ns), 0.0, static_cast<double>(model_.width)));
  }
  std::pair<float, float> Extent(const session::Range& range) const {
    return {X(range.start_ns), X(range.end_ns)};
  }
  bool Visible(int64_t start_ns, int64_t end_ns) const {
    return end_ns > model_.visible.start_ns && start_ns < model_.visible.end_ns;
  }

  // The row of a track at this depth, or of the folded group that contains it.
  size_t RowOf(TrackId track, size_t depth = 0) const {
    size_t group = kNoRow;
    for (size_t i = 0; i < model_.rows.size(); ++i) {
      const LaneRow& row = model_.rows[i];
      if (row.track == track && (row.depth == kAllDepths || row.depth == depth)) return i;
      const std::vector<TrackId>& members = row.members;
      if (row.collapsed && std::find(members.begin(), members.end(), track) != members.end()) {
        group = i;
      }
    }
    return group;
  }

  void AddStalls() {
    if (open_.stalls == nullptr) return;
    const auto& stalls = *open_.stalls;
    auto at = std::partition_point(stalls.begin(), stalls.end(), [&](const auto& stall) {
      return stall.end_ns <= model_.visible.start_ns;
    });
    const attribution::StallDetail* last = nullptr;
    for (; at != stalls.end() && at->start_ns < model_.visible.end_ns; ++at) {
      const bool same = last != nullptr && last->step_row == at->step_row &&
                        last->rank == at->rank && last->device == at->device;
      last = &*at;
      if (!same) AddPieces(*at);
    }
  }

  void AddProbes() {
    for (const trace::Probe& window : open_.run->rows.probes) {
      if (!window.stage.known() || !Visible(window.start_ns, window.end_ns)) continue;
      ProbeBand& band = model_.probes.emplace_back();
      std::tie(band.x0, band.x1) = Extent({window.start_ns, window.end_ns});
      band.brief = open_.run->NameOf(window.stage);
      band.text = SlowedText(*open_.run, window);
    }
  }

  // A step's stall as its device's row shows it: in the gaps the device was at work.
  void AddPieces(const attribution::StallDetail& stall) {
    const auto& timelines = open_.whole.attribution->timelines;
    const auto device = std::find_if(timelines.begin(), timelines.end(), [&](const auto& timeline) {
      return timeline.rank == stall.rank && timeline.device == stall.device;
    });
    const auto number = static_cast<size_t>(device - timelines.begin());
    if (open_.devices == nullptr || number >= open_.devices->size()) return;
    const timeline::LaneIndex& lane = (*open_.devices)[number];
    const int64_t start = std::max(stall.start_ns, model_.visible.start_ns);
    const int64_t end = std::min(stall.end_ns, model_.visible.end_ns);
    // By columns, like the row: one is hatched if most of it is a stall. Many short waits between
    // kernels would otherwise hatch what the row shows as compute.
    const auto from = static_cast<size_t>(X(start));
    std::vector<float> covered(static_cast<size_t>(std::ceil(X(end))) - from + 1);
    for (size_t i = lane.FirstEndingAfter(start); i < lane.size(); ++i) {
      const timeline::Segment piece = lane.At(i);
      if (piece.start_ns >= end) break;
      if (static_cast<attribution::Category>(piece.kind) != attribution::Category::kInputStall) {
        continue;
      }
      const float x0 = X(std::max(piece.start_ns, start)) - static_cast<float>(from);
      const float x1 = X(std::min(piece.end_ns, end)) - static_cast<float>(from);
      for (auto k = static_cast<size_t>(x0); k < covered.size() && static_cast<float>(k) < x1;
           ++k) {
        const auto column = static_cast<float>(k);
        covered[k] += std::min(x1, column + 1) - std::max(x0, column);
      }
    }
    AddColumns(stall.step_row, from, covered);
  }

  void AddColumns(uint64_t step_row, size_t from, const std::vector<float>& covered) {
    constexpr float kMost = 0.5F;
    const bool selected = state_.view.selected.step_row == step_row;
    for (size_t k = 0; k < covered.size(); ++k) {
      const size_t first = k;
      while (k < covered.size() && covered[k] > kMost) ++k;
      const auto width = static_cast<float>(k - first);
      if (width == 0 || (width < kThinnestBand && !selected)) continue;
      if (model_.stalls.size() == kMostBands) return;
      model_.stalls.push_back(
          {static_cast<float>(from + first), static_cast<float>(from + k), step_row, selected});
    }
  }

  void AddChain() {
    if (state_.explanation.step_row != state_.view.selected.step_row) return;
    for (const attribution::ChainLink& link : state_.explanation.chain) {
      if (!Visible(link.start_ns, link.end_ns) || link.track.value >= open_.run->tracks.size()) {
        continue;
      }
      const std::string_view name = link.op.known()      ? open_.run->Text(link.op)
                                    : link.stage.known() ? open_.run->NameOf(link.stage)
                                                         : open_.run->NameOf(link.track);
      model_.chain.push_back({X(link.start_ns), X(link.end_ns), RowOf(link.track),
                              fmt::format("{}: {}, {}", name, NameOf(link.cause),
                                          words::Duration(link.end_ns - link.start_ns)),
                              std::string(name), Paint::kChain, link.depth});
    }
  }

  void AddPath() {
    if (!state_.explanation.path.has_value()) return;
    for (const session::PathStop& stop : state_.explanation.path->stops) {
      if (!stop.at.track.known() || stop.at.track.value >= open_.run->tracks.size()) continue;
      model_.path.push_back({X(stop.when.start_ns), X(stop.when.end_ns), RowOf(stop.at.track),
                             stop.what + ", " + words::Duration(stop.when.ns()), "", Paint::kPath,
                             0});
    }
  }

  void AddSelected() {
    const auto& interval = state_.view.selected.interval;
    if (!interval.has_value() || open_.spans == nullptr) return;
    if (!open_.spans->RowOf(*interval).has_value()) return;
    const session::SpanRow row = open_.spans->At(*interval);
    const int64_t end = row.start_ns + row.duration_ns;
    if (!Visible(row.start_ns, std::max(end, row.start_ns + 1)) || !interval->track.known()) return;
    const std::vector<uint8_t>& depths = open_.index->nested[interval->track.value].span_rows;
    const bool nested = interval->kind == session::IntervalKind::kSpan && !depths.empty();
    model_.selected = SelectedMark{X(row.start_ns), X(end),
                                   RowOf(interval->track, nested ? depths[interval->index] : 0)};
  }

  std::string MeasuredText(const session::Range& range) const {
    const auto& steps = open_.index->step_times;
    const auto count = std::count_if(steps.begin(), steps.end(), [&](const auto& step) {
      return step.start_ns >= range.start_ns && step.start_ns < range.end_ns;
    });
    std::string text = words::BothNs(range.ns());
    if (!steps.empty()) text += ", " + words::Counted(static_cast<uint64_t>(count), "step");
    return text;
  }

  TimelineModel& model_;
  const session::State& state_;
  const session::OpenRun& open_;
};

}  // namespace

class TimelineBuilder::Impl {
 public:
  explicit Impl(unsigned threads) : threads_(threads) {}

  std::shared_ptr<const TimelineModel> Build(const session::State& state) {
    const session::OpenRun* const open = state.Active();
    if (open == nullptr || open->index == nullptr) return nullptr;
    const session::PanelSize& size = state.sizes[session::At(session::Panel::kTimeline)];
    TimelineModel model;
    model.visible = state.view.visible;
    model.whole = {open->index->window.start_ns, open->index->window.end_ns};
    if (model.visible.ns() <= 0) model.visible = model.whole;
    model.origin_ns = open->index->window.start_ns;
    model.name_width = NameWidth(size);
    model.width = std::max(size.width - model.name_width, 1);
    Plan(*open, state);
    const std::vector<size_t> visible = VisibleEntries(state, size, model);
    DrawRows(*open, model, size, visible);
    model.ticks = TimeTicks(model.visible, model.origin_ns, static_cast<float>(model.width),
                            kTickCharacters * std::max(size.character, 1.F));
    Marks(model, state, *open).Add();
    model.drawn = drawn_;
    return std::make_shared<const TimelineModel>(std::move(model));
  }

 private:
  // A thread's first row has the same key, folded or not.
  using LaneName = std::pair<std::string, size_t>;
  static LaneName NameOf(const Lane& entry) { return {entry.key, entry.depth}; }

  void Plan(const session::OpenRun& open, const session::State& state) {
    PlanKey key{open.number, open.revision, open.devices.get(), state.layout.collapsed};
    if (key == plan_key_) return;
    plan_key_ = std::move(key);
    plan_ = PlanLanes(open, state.layout.collapsed);
  }

  std::vector<size_t> VisibleEntries(const session::State& state, const session::PanelSize& size,
                                     TimelineModel& model) const {
    float height = 0;
    for (const Lane& entry : plan_) height += entry.height;
    model.rows_height = height;
    const float shown =
        std::max(static_cast<float>(size.height) / std::max(size.line, 1.F) - kHeaderLines, 1.F);
    const auto most = static_cast<double>(std::max(height - shown, 0.F));
    const auto from = static_cast<float>(std::clamp(state.layout.first_row, 0.0, most));
    std::vector<size_t> visible;
    float y = 0;
    for (size_t i = 0; i < plan_.size(); ++i) {
      const float end = y + plan_[i].height;
      if (end > from && y < from + shown) visible.push_back(i);
      y = end;
    }
    return visible;
  }

  // Draws only visible rows that are missing.
  void DrawRows(const session::OpenRun& open, TimelineModel& model, const session::PanelSize& size,
                const std::vector<size_t>& visible) {
    const PictureKey key{open.number,   open.revision, open.devices.get(),
                         model.visible, model.width,   size.character};
    if (key != picture_key_) {
      picture_key_ = key;
      lanes_.clear();
    }
    std::vector<size_t> missing;
    for (const size_t i : visible) {
      if (lanes_.count(NameOf(plan_[i])) == 0) missing.push_back(i);
    }
    if (!missing.empty()) {
      const LanePicture picture{
          open, model.visible,
          timeline::ColumnBounds({model.visible.start_ns, model.visible.end_ns},
                                 static_cast<size_t>(model.width)),
          size.character};
      std::vector<std::shared_ptr<const DrawnLane>> drawn(missing.size());
      ForEachParallel(missing.size(), threads_, [&](size_t i) {
        drawn[i] = std::make_shared<const DrawnLane>(DrawLane(picture, plan_[missing[i]]));
      });
      for (size_t i = 0; i < missing.size(); ++i) {
        lanes_[NameOf(plan_[missing[i]])] = std::move(drawn[i]);
      }
      ++drawn_;
    }
    if (shown_ != visible) ++drawn_;
    shown_ = visible;
    Place(model, visible);
  }

  void Place(TimelineModel& model, const std::vector<size_t>& visible) const {
    float y = 0;
    size_t next = 0;
    for (size_t i = 0; i < plan_.size() && next < visible.size(); ++i) {
      const Lane& entry = plan_[i];
      if (visible[next] == i) {
        ++next;
        model.rows.push_back({entry, *lanes_.at(NameOf(entry)), y});
      }
      y += entry.height;
    }
  }

  const unsigned threads_;
  PlanKey plan_key_;
  std::vector<Lane> plan_;
  PictureKey picture_key_;
  std::map<LaneName, std::shared_ptr<const DrawnLane>> lanes_;
  std::vector<size_t> shown_;
  uint64_t drawn_ = 0;
};

TimelineBuilder::TimelineBuilder(unsigned threads) : impl_(std::make_unique<Impl>(threads)) {}

TimelineBuilder::~TimelineBuilder() = default;

std::shared_ptr<const TimelineModel> TimelineBuilder::Build(const session::State& state) {
  return impl_->Build(state);
}

int NameWidth(const session::PanelSize& size) {
  return std::min(static_cast<int>(kNameCharacters * size.character), size.width / 3);
}

int64_t TimeAtX(const TimelineModel& model, double x) {
  if (model.width <= 0) return model.visible.start_ns;
  const double ns = x / model.width * static_cast<double>(model.visible.ns());
  return model.visible.start_ns + static_cast<int64_t>(std::clamp(ns, -4e18, 4e18));
}

double XAtTime(const TimelineModel& model, int64_t time_ns) {
  if (model.visible.ns() <= 0) return 0;
  return static_cast<double>(time_ns - model.visible.start_ns) /
         static_cast<double>(model.visible.ns()) * model.width;
}

}  // namespace stallscope::viewmodel
