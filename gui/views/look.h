// What a view needs besides its data: colors, fonts, sizes. Stored in the current Dear ImGui
// context (ImGuiIO::UserData), so that a view stays a function of snapshot and intents, and two
// contexts in one program do not share it. Only on the context's thread.
#pragma once

#include <imgui.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "gui/session/settings.h"
#include "gui/session/state.h"
#include "gui/viewmodel/paint.h"
#include "gui/views/fonts.h"
#include "gui/views/theme.h"

namespace stallscope::views {

// Pixels that a view makes itself: the timeline's lanes, one or more rows each. The renderer
// uploads them when `revision` changes, and sets `texture` before the first frame.
struct Strip {
  ImTextureID texture = nullptr;
  int width = 0;
  int height = 0;
  std::vector<ImU32> pixels;
  uint64_t revision = 0;
  uint64_t drawn = 0;           // TimelineModel::drawn that the pixels show, and
  float line = 0;               // with lanes so high, and
  const void* model = nullptr;  // whose, with
  std::vector<uint8_t> tints;   // so much of a stall's color in each column
};

// Private state that a window keeps between frames.
struct Memory {
  std::string palette_text;
  int palette_row = 0;
  std::string path_text;
  std::string find_text;
  session::Overlay last_overlay = session::Overlay::kNone;
  size_t question_answer = 0;      // that Enter would give
  bool field_just_opened = false;  // so that it takes the keyboard once
  double drag_from_ns = 0;         // on the timeline: where a drag began,
  bool drag_marks = false;         // whether it marks a range,
  bool drag_moved = false;         // and whether it is more than a click
  size_t span_first_row = 0;
  std::string knob_filter;
  std::string code_framework = "tf.data";
};

struct Look {
  session::Theme theme = session::Theme::kDark;
  Colors colors;
  Fonts fonts;
  float scale = 1;
  Strip lanes;       // of the timeline
  Strip base_lanes;  // of the comparison's two sides
  Strip now_lanes;
  // What the renderer does before and after opaque pixels; null if it makes no difference. Blending
  // is most of their cost in software.
  ImDrawCallback opaque = nullptr;
  ImDrawCallback blended = nullptr;
  Memory memory;

  ImU32 Of(viewmodel::Paint paint) const { return ColorOf(paint, theme); }
  // A length in pixels at scale 1, scaled.
  float Px(float pixels) const { return pixels * scale; }
  // The distance between lines of a list.
  float Pitch() const { return std::round(Px(23)); }
  float SmallPitch() const { return std::round(Px(17)); }
};

Look& TheLook();
// Sizes and colors of Dear ImGui's own widgets.
void ApplyStyle(const Look& look);

// A Dear ImGui context with our fonts and colors, without a backend: the program adds a window,
// pictures and tests feed it by hand.
//
// It is the current context during its lifetime and restores the previous one at its end: destroy
// objects in reverse order. One thread.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // True if the fonts were rebuilt, so that the atlas must be uploaded again. Call between frames.
  bool Dress(session::Theme theme, double scale);
  // No blinking caret, and for vectors no anti-aliasing: for exported pictures.
  void DrawStill(bool vectors);

  Look& look() { return look_; }

 private:
  ImGuiContext* previous_;
  ImGuiContext* context_;
  Look look_;
  double scale_ = 0;
};

}  // namespace stallscope::views
