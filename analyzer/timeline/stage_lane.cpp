#include <algorithm>

#include "analyzer/timeline/columns.h"
#include "analyzer/timeline/innermost.h"
#include "analyzer/timeline/timeline.h"

namespace stallscope::timeline {
namespace {

enum Layer : size_t { kWork, kEmpty, kFull, kWait, kLayers };

size_t LayerOf(const trace::SpanClass& span_class) {
  if (span_class.kind == trace::SpanKind::kWork) return kWork;
  if (span_class.cause == trace::WaitCause::kEmpty) return kEmpty;
  if (span_class.cause == trace::WaitCause::kFull) return kFull;
  return kWait;
}

// What is added up for one stage.
struct Sums {
  std::vector<Columns> layers;
  size_t own_tracks = 0;
  size_t lent_tracks = 0;  // of other stages, whose threads do this stage's work
  bool on_this_track = false;
};

// One entry a stage; those that are not asked for stay without layers.
std::vector<Sums> SumsOf(const model::Run& run, const std::vector<bool>& asked,
                         model::TimeRange range, size_t columns) {
  std::vector<Sums> sums(run.stages.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    if (asked[i]) sums[i].layers.assign(kLayers, Columns(range, columns));
  }
  for (const model::Track& track : run.tracks) {
    if (track.info.kind == trace::TrackKind::kDetail) continue;
    const StageId owner = track.info.stage;
    Innermost innermost;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& span_class = run.ClassOf(track, i);
      // A wait belongs to whoever's thread it is.
      const StageId of = span_class.stage.known() ? span_class.stage : owner;
      const size_t layer = LayerOf(span_class);
      innermost.Add(track.spans.start_ns[i], track.spans.EndNs(i), [&](int64_t start, int64_t end) {
        if (!of.known() || !asked[of.value]) return;
        sums[of.value].layers[layer].Add(start, end);
        sums[of.value].on_this_track = true;
      });
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      const bool own = owner.known() && owner.value == i;
      sums[i].own_tracks += own ? 1U : 0U;
      sums[i].lent_tracks += !own && sums[i].on_this_track ? 1U : 0U;
      sums[i].on_this_track = false;
    }
  }
  return sums;
}

Lane LaneOf(const model::Run& run, size_t stage, const Sums& sums) {
  Lane lane{run.stages[stage].name, {"work", "empty", "full", "wait"}, {}};
  // A stage without threads of its own is as wide as those that it runs in.
  const size_t workers = std::max<size_t>(sums.own_tracks + sums.lent_tracks, 1);
  for (const Columns& layer : sums.layers) lane.busy.push_back(layer.Fractions(workers));
  return lane;
}

}  // namespace

Lane StageLane(const model::Run& run, StageId stage, model::TimeRange range, size_t columns) {
  std::vector<bool> asked(run.stages.size());
  asked[stage.value] = true;
  return LaneOf(run, stage.value, SumsOf(run, asked, range, columns)[stage.value]);
}

std::vector<Lane> StageLanes(const model::Run& run, model::TimeRange range, size_t columns) {
  const auto sums = SumsOf(run, std::vector<bool>(run.stages.size(), true), range, columns);
  std::vector<Lane> lanes;
  for (size_t i = 0; i < sums.size(); ++i) lanes.push_back(LaneOf(run, i, sums[i]));
  return lanes;
}

}  // namespace stallscope::timeline
