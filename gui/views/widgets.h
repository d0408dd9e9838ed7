// What panels are made of: cards, areas in a paint with their legend, bars, the line of trust. The
// thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_WIDGETS_H_
#define STALLSCOPE_GUI_VIEWS_WIDGETS_H_

#include <imgui.h>

#include <string_view>

#include "gui/viewmodel/overview.h"
#include "gui/viewmodel/paint.h"

namespace stallscope::views {

// Begins with the object and ends with it. A size of 0 is all the room there is; a negative one
// leaves so much of it.
class Card {
 public:
  Card(const char* id, ImVec2 size, std::string_view title = {}, bool scrolls = false);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
};

// How high a card is that holds this.
float CardHeight(float content_height, bool titled);

// The width of each of `count` parts side by side.
float ShareOfWidth(int count);

// The paint's hatch in `color`, cut to the rectangle; its lines no closer than `least_pitch`.
void PutHatch(ImDrawList& list, ImVec2 from, ImVec2 to, viewmodel::Hatch hatch, ImU32 color,
              float least_pitch = 0);
// Its colour and its hatch.
void PutPaint(ImDrawList& list, ImVec2 from, ImVec2 to, viewmodel::Paint paint, float rounding = 0);

// A swatch and its word, as an item.
void LegendEntry(viewmodel::Paint paint, std::string_view word);
float LegendWidth(std::string_view word);

// A bar of this fill in a frame, as an item.
void Gauge(double fill, ImU32 color, ImVec2 size, std::string_view text = {});

// A button that is greyed out unless it `can` be pressed; as wide as its label where `width` is 0.
bool ButtonIf(bool can, const char* label, float width = 0);

// Green with a tick where nothing is lost, else red with a mark; the warnings are its tooltip.
void DrawTrustLine(const viewmodel::TrustLine& trust, float width = 0);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_WIDGETS_H_
