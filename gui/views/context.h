// A Dear ImGui context dressed in our fonts and colours, without any backend: the program puts a
// window under it, pictures and tests feed it by hand.
//
// It is the current context from its making to its end, and then the one before is again: objects
// end in the reverse order of their making. One thread.
#ifndef STALLSCOPE_GUI_VIEWS_CONTEXT_H_
#define STALLSCOPE_GUI_VIEWS_CONTEXT_H_

#include <imgui.h>

#include "gui/session/settings.h"
#include "gui/views/look.h"

namespace stallscope::views {

class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // True where the fonts were made anew and the atlas must be uploaded again. Between two frames.
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

#endif  // STALLSCOPE_GUI_VIEWS_CONTEXT_H_
