// What a view needs to know besides what it draws: colours, fonts, sizes. It hangs on the current
// Dear ImGui context (ImGuiIO::UserData), so that a view stays a function of snapshot and intents,
// and two contexts in one program do not share it. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_LOOK_H_
#define STALLSCOPE_GUI_VIEWS_LOOK_H_

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

// Pixels that a view makes itself: the timeline's lanes, a row or a few for each. Whoever renders
// uploads them where `revision` has changed, and gives `texture` its value before the first frame.
struct Strip {
  ImTextureID texture = nullptr;
  int width = 0;
  int height = 0;
  std::vector<ImU32> pixels;
  uint64_t revision = 0;
  uint64_t drawn = 0;           // TimelineModel::drawn that the pixels show, and
  float line = 0;               // with lanes so high, and
  const void* model = nullptr;  // whose, with
  std::vector<uint8_t> tints;   // so much of a stall's colour in each column
};

// What a window keeps between two frames and nobody else needs to know.
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
  // What a renderer does before and after pixels that nothing shines through, null where it makes
  // no difference: mixing them with what lies below is most of what they cost one in software.
  ImDrawCallback opaque = nullptr;
  ImDrawCallback blended = nullptr;
  Memory memory;

  ImU32 Of(viewmodel::Paint paint) const { return ColorOf(paint, theme); }
  // A length that is `pixels` where the body's text is 16 pixels high.
  float Px(float pixels) const { return pixels * scale; }
  // From one line of a list or lane to the next.
  float Pitch() const { return std::round(Px(23)); }
  float SmallPitch() const { return std::round(Px(17)); }
};

Look& TheLook();
// Sizes and colours of Dear ImGui's own widgets.
void ApplyStyle(const Look& look);

// A Dear ImGui context dressed in our fonts and colours, without any backend: the program puts a
// window under it, pictures and tests feed it by hand.
//
// It is the current context from its making to its end, and then the one before is again: objects
// end in the reverse order of their making. One thread.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // True if the fonts were rebuilt and the atlas must be uploaded again. Between two frames.
  bool Dress(session::Theme theme, double scale);
  // Edges without smoothing and no blinking: for a page of vectors, and for pictures.
  void DrawStill(bool vectors);

  Look& look() { return look_; }

 private:
  ImGuiContext* previous_;
  ImGuiContext* context_;
  Look look_;
  double scale_ = 0;
};

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_LOOK_H_
