// The building blocks of panels: cards, boxes, painted areas with their legend, bars, the trust
// line. Only on the context's thread.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>

#include "gui/session/intents.h"
#include "gui/viewmodel/overview.h"
#include "gui/viewmodel/paint.h"

namespace stallscope::views {

// A framed section of a panel, for the object's lifetime. A size of 0 takes all available space; a
// negative one leaves that much.
class Card {
 public:
  Card(const char* id, ImVec2 size, std::string_view title = {}, bool scrolls = false);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
};

// A box over the window, for the object's lifetime: centered, at `top` (0 to 1 of the window's
// height), this wide and at most this high (in pixels at scale 1). The rest is darkened, and a
// click there closes the overlay.
class Box {
 public:
  Box(const char* id, float width, float height, float top, session::Intents& intents);
  ~Box();
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;
  bool open() const { return open_; }

 private:
  bool open_ = false;
};

// The height of a card with this content.
float CardHeight(float content_height, bool titled);

// The width of each of `count` items side by side.
float ShareOfWidth(int count);

// A hatch in `color`, clipped to the rectangle, its lines at least `least_pitch` apart.
void PutHatch(ImDrawList& list, ImVec2 from, ImVec2 to, viewmodel::Hatch hatch, ImU32 color,
              float least_pitch = 0);
// The paint's color and hatch.
void PutPaint(ImDrawList& list, ImVec2 from, ImVec2 to, viewmodel::Paint paint, float rounding = 0);

// A swatch and its word, as an item.
void LegendEntry(viewmodel::Paint paint, std::string_view word);
float LegendWidth(std::string_view word);

// A bar filled from 0 to 1, as an item.
void Gauge(double fill, ImU32 color, ImVec2 size, std::string_view text = {});

// A button that is grayed out unless it `can` be pressed; as wide as its label if `width` is 0.
bool ButtonIf(bool can, const char* label, float width = 0);

// What a change gains, wherever it is shown: the factor is large, and a prediction beside a
// measurement is small. As wide as what is available.
void DrawGain(const report::GainText& gain);
float GainHeight(const report::GainText& gain, float width);

// That figures of the panel are assumed, if they are.
void DrawAssumed(const std::string& assumed);

// Green with a check mark if nothing is lost, else red with a warning sign; warnings are in its
// tooltip.
void DrawTrustLine(const viewmodel::TrustLine& trust, float width = 0);

}  // namespace stallscope::views
