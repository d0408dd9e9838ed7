#include "gui/viewmodel/snapshot.h"

#include <algorithm>
#include <utility>

namespace stallscope::viewmodel {
namespace {

using session::Panel;
using session::PanelSize;

// Heat maps need no finer columns, and each one costs.
constexpr int kWidestHeat = 400;

size_t HeatColumns(const PanelSize& size) {
  const float in_characters = static_cast<float>(size.width) / std::max(size.character, 1.F);
  return static_cast<size_t>(std::clamp(static_cast<int>(in_characters), 40, kWidestHeat));
}

template <class T>
std::shared_ptr<const T> Shared(T model) {
  return std::make_shared<const T>(std::move(model));
}

// Two sides with their names.
int CompareColumns(const PanelSize& size) {
  return std::max((size.width - 2 * NameWidth(size)) / 2, 1);
}

}  // namespace

const Snapshot& Composer::Compose(std::shared_ptr<const session::State> state) {
  if (state == snapshot_.state) return snapshot_;
  snapshot_.state = std::move(state);
  Build(*snapshot_.state);
  return snapshot_;
}

void Composer::Build(const session::State& state) {
  const Panel panel = state.view.panel;
  const PanelSize& size = state.sizes[session::At(panel)];
  switch (panel) {
    case Panel::kOverview:
      snapshot_.overview = Shared(BuildOverview(state));
      break;
    case Panel::kTimeline:
      snapshot_.timeline = timeline_.Build(state);
      break;
    case Panel::kPipeline:
      snapshot_.pipeline =
          Shared(BuildPipeline(state, static_cast<float>(size.width) / std::max(size.line, 1.F)));
      break;
    case Panel::kStalls:
      snapshot_.stalls = Shared(BuildStalls(state, HeatColumns(size)));
      break;
    case Panel::kSteps:
      snapshot_.steps = Shared(BuildSteps(state));
      break;
    case Panel::kFindings:
      snapshot_.findings = Shared(BuildFindings(state));
      break;
    case Panel::kSweep:
      snapshot_.sweep = Shared(BuildSweep(state));
      break;
    case Panel::kCompare:
      snapshot_.compare = Shared(BuildCompare(state, CompareColumns(size)));
      break;
    case Panel::kRecord:
      snapshot_.record = Shared(BuildRecord(state));
      break;
    case Panel::kSpans:
      snapshot_.spans = Shared(BuildSpans(state));
      break;
    case Panel::kRun:
      snapshot_.run = Shared(BuildRunFacts(state));
      break;
  }
}

}  // namespace stallscope::viewmodel
