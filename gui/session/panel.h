// The panels of the window, by the words that the command line has for them. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stallscope::session {

enum class Panel : uint8_t {
  kOverview,
  kTimeline,
  kPipeline,
  kStalls,
  kSteps,
  kFindings,
  kSweep,
  kCompare,
  kRecord,
  kSpans,
  kRun
};
constexpr size_t kPanels = 11;

constexpr std::array<Panel, kPanels> kAllPanels = {
    Panel::kOverview, Panel::kTimeline, Panel::kPipeline, Panel::kStalls,
    Panel::kSteps,    Panel::kFindings, Panel::kSweep,    Panel::kCompare,
    Panel::kRecord,   Panel::kSpans,    Panel::kRun};

constexpr size_t At(Panel panel) { return static_cast<size_t>(panel); }

std::string_view WordFor(Panel panel);  // "overview"
std::string_view TitleOf(Panel panel);  // "Overview"
std::optional<Panel> PanelOf(std::string_view word);

}  // namespace stallscope::session
