#include "gui/session/panel.h"

namespace stallscope::session {
namespace {

struct Names {
  std::string_view word;
  std::string_view title;
};

constexpr std::array<Names, kPanels> kNames = {{{"overview", "Overview"},
                                                {"timeline", "Timeline"},
                                                {"pipeline", "Pipeline"},
                                                {"stalls", "Stalls"},
                                                {"steps", "Steps"},
                                                {"findings", "Findings"},
                                                {"sweep", "Sweep"},
                                                {"compare", "Compare"},
                                                {"record", "Record"},
                                                {"spans", "Spans"},
                                                {"run", "Run"}}};

}  // namespace

std::string_view WordFor(Panel panel) { return kNames[At(panel)].word; }

std::string_view TitleOf(Panel panel) { return kNames[At(panel)].title; }

std::optional<Panel> PanelOf(std::string_view word) {
  for (const Panel panel : kAllPanels) {
    if (WordFor(panel) == word) return panel;
  }
  return std::nullopt;
}

}  // namespace stallscope::session
