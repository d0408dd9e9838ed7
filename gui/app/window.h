// The one window: GLFW and OpenGL 3 under a Dear ImGui context. The main thread.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "gui/session/settings.h"
#include "gui/views/look.h"

struct GLFWwindow;

namespace stallscope::app {

class Window {
 public:
  // kRun where there is no display, or none with OpenGL 3.
  static Result<std::unique_ptr<Window>> Open(const session::Settings& settings);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  bool closing() const;
  // The scale that the screen asks for.
  double screen_scale() const;
  // Sets theme and scale; cheap if nothing changes.
  void Dress(session::Theme theme, double scale);
  // Waits for an event, at most this long; below 0: forever.
  void Wait(double seconds);
  // One frame. What `draw` draws with Dear ImGui is on the screen when this returns.
  void Frame(const std::function<void()>& draw);
  void SetTitle(const std::string& title);
  void SetClipboard(const std::string& text);
  // Files dropped since the last call.
  std::vector<std::string> TakeDropped();
  std::array<int, 2> Size() const;
  // Whether there was any input or resize since the last call, however the wait ended: the frames
  // that show it have yet to be drawn.
  bool TakeTouched();

 private:
  struct KeyEvent {
    int key = 0;
    int scancode = 0;
    int action = 0;
    int modifiers = 0;
  };
  // Dear ImGui samples the keys once per frame. A key pressed and released between two frames would
  // be lost, so a release waits until one frame has seen the press.
  void DeliverKeys();
  // Dear ImGui chains to callbacks that were installed before its own.
  void NoteTouches();
  static void Touch(GLFWwindow* window);
  explicit Window(GLFWwindow* window);
  void UploadStrip(views::Strip& strip, unsigned& texture, uint64_t& revision);

  struct Upload {
    unsigned texture = 0;
    uint64_t revision = 0;
  };

  GLFWwindow* window_;
  views::Context context_;
  session::Theme theme_ = session::Theme::kDark;
  double scale_ = 0;
  std::array<Upload, 3> uploads_;
  std::vector<std::string> dropped_;
  bool touched_ = false;
  std::deque<KeyEvent> keys_;
};

// Wakes a waiting window. Any thread, as long as one is open.
void WakeWindow();

}  // namespace stallscope::app
