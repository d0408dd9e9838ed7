// The only file that calls GLFW and OpenGL.
#include "gui/app/window.h"

#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <utility>

#include "gui/views/keys.h"

namespace stallscope::app {
namespace {

// GLFW's error callback takes no user pointer.
std::string& LastComplaint() {
  static std::string complaint;
  return complaint;
}

void OnGlfwError(int, const char* text) { LastComplaint() = text == nullptr ? "" : text; }

Error NoDisplay() {
  return {ErrorKind::kRun, "no display: " + LastComplaint(), "",
          "set DISPLAY, or write a panel to a file with --export-png"};
}

Error NoOpenGl() {
  return {ErrorKind::kRun, "the display has no OpenGL 3: " + LastComplaint(), "",
          "install a driver (libgl1-mesa-dri includes a software one), or use --export-png"};
}

}  // namespace

Result<std::unique_ptr<Window>> Window::Open(const session::Settings& settings) {
  glfwSetErrorCallback(&OnGlfwError);
  if (glfwInit() == GLFW_FALSE) return NoDisplay();
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 0);
  glfwWindowHintString(GLFW_X11_CLASS_NAME, "stallscope-gui");
  glfwWindowHintString(GLFW_X11_INSTANCE_NAME, "stallscope-gui");
  GLFWwindow* window =
      glfwCreateWindow(std::max(640, settings.window_width), std::max(400, settings.window_height),
                       "stallscope", nullptr, nullptr);
  if (window == nullptr) {
    glfwTerminate();
    return NoOpenGl();
  }
  glfwMakeContextCurrent(window);
  glfwSwapInterval(1);
  std::unique_ptr<Window> made(new Window(window));
  if (!ImGui_ImplOpenGL3_Init("#version 130")) return NoOpenGl();
  return made;
}

Window::Window(GLFWwindow* window) : window_(window) {
  glfwSetWindowUserPointer(window_, this);
  glfwSetDropCallback(window_, [](GLFWwindow* dropped_on, int count, const char** paths) {
    auto* self = static_cast<Window*>(glfwGetWindowUserPointer(dropped_on));
    self->dropped_.insert(self->dropped_.end(), paths, paths + count);
  });
  NoteTouches();
  // Before the first frame there must be fonts, at whatever scale.
  ImGui_ImplGlfw_InitForOpenGL(window_, true);
  glfwSetKeyCallback(window_,
                     [](GLFWwindow* pressed_in, int key, int scancode, int action, int modifiers) {
                       auto* self = static_cast<Window*>(glfwGetWindowUserPointer(pressed_in));
                       self->keys_.push_back({key, scancode, action, modifiers});
                       self->touched_ = true;
                     });
  views::MapKeys(ImGui::GetIO());
  context_.look().opaque = [](const ImDrawList*, const ImDrawCmd*) { glDisable(GL_BLEND); };
  context_.look().blended = [](const ImDrawList*, const ImDrawCmd*) { glEnable(GL_BLEND); };
}

void Window::Touch(GLFWwindow* window) {
  static_cast<Window*>(glfwGetWindowUserPointer(window))->touched_ = true;
}

void Window::NoteTouches() {
  glfwSetMouseButtonCallback(window_, [](GLFWwindow* window, int, int, int) { Touch(window); });
  glfwSetCursorPosCallback(window_, [](GLFWwindow* window, double, double) { Touch(window); });
  glfwSetCursorEnterCallback(window_, [](GLFWwindow* window, int) { Touch(window); });
  glfwSetScrollCallback(window_, [](GLFWwindow* window, double, double) { Touch(window); });
  glfwSetCharCallback(window_, [](GLFWwindow* window, unsigned) { Touch(window); });
  glfwSetWindowFocusCallback(window_, [](GLFWwindow* window, int) { Touch(window); });
  glfwSetFramebufferSizeCallback(window_, [](GLFWwindow* window, int, int) { Touch(window); });
  glfwSetWindowContentScaleCallback(window_,
                                    [](GLFWwindow* window, float, float) { Touch(window); });
  glfwSetWindowRefreshCallback(window_, [](GLFWwindow* window) { Touch(window); });
}

Window::~Window() {
  for (const Upload& upload : uploads_) {
    if (upload.texture != 0) glDeleteTextures(1, &upload.texture);
  }
  if (ImGui::GetIO().BackendRendererUserData != nullptr) ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  glfwDestroyWindow(window_);
  glfwTerminate();
}

bool Window::closing() const { return glfwWindowShouldClose(window_) != GLFW_FALSE; }

double Window::screen_scale() const {
  float x = 1;
  float y = 1;
  glfwGetWindowContentScale(window_, &x, &y);
  return std::clamp<double>(x, 1, session::kLargestScale);
}

void Window::Dress(session::Theme theme, double scale) {
  if (theme == theme_ && scale == scale_) return;
  const bool first = scale_ == 0;  // the renderer makes its objects with the first frame
  theme_ = theme;
  scale_ = scale;
  if (context_.Dress(theme, scale) && !first) {
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
  }
}

void Window::Wait(double seconds) {
  if (seconds < 0) {
    glfwWaitEvents();
  } else {
    glfwWaitEventsTimeout(std::max(seconds, 1e-4));
  }
}

void Window::UploadStrip(views::Strip& strip, unsigned& texture, uint64_t& revision) {
  if (texture == 0) {
    glGenTextures(1, &texture);
    strip.texture = reinterpret_cast<ImTextureID>(static_cast<intptr_t>(texture));
    glBindTexture(GL_TEXTURE_2D, texture);
    // A texel is a column: mixing it with its neighbors would blur what is exact.
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  }
  if (revision == strip.revision || strip.pixels.empty()) return;
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, strip.width, strip.height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
               strip.pixels.data());
  revision = strip.revision;
}

void Window::DeliverKeys() {
  bool pressed = false;
  while (!keys_.empty()) {
    const KeyEvent event = keys_.front();
    if (event.action == GLFW_RELEASE && pressed) return;
    pressed = pressed || event.action == GLFW_PRESS;
    keys_.pop_front();
    ImGui_ImplGlfw_KeyCallback(window_, event.key, event.scancode, event.action, event.modifiers);
  }
}

void Window::Frame(const std::function<void()>& draw) {
  views::Look& look = context_.look();
  const std::array<views::Strip*, 3> strips = {&look.lanes, &look.base_lanes, &look.now_lanes};
  for (size_t i = 0; i < strips.size(); ++i) {
    UploadStrip(*strips[i], uploads_[i].texture, uploads_[i].revision);
  }
  DeliverKeys();
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
  draw();
  ImGui::Render();
  for (size_t i = 0; i < strips.size(); ++i) {
    UploadStrip(*strips[i], uploads_[i].texture, uploads_[i].revision);
  }
  int width = 0;
  int height = 0;
  glfwGetFramebufferSize(window_, &width, &height);
  glViewport(0, 0, width, height);
  const ImVec4 ground = ImGui::ColorConvertU32ToFloat4(look.colors.window);
  glClearColor(ground.x, ground.y, ground.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  glfwSwapBuffers(window_);
}

void Window::SetTitle(const std::string& title) { glfwSetWindowTitle(window_, title.c_str()); }

void Window::SetClipboard(const std::string& text) {
  glfwSetClipboardString(window_, text.c_str());
}

bool Window::TakeTouched() {
  // A key's release that waits has to be seen by another frame.
  return std::exchange(touched_, false) || !keys_.empty();
}

std::vector<std::string> Window::TakeDropped() { return std::exchange(dropped_, {}); }

std::array<int, 2> Window::Size() const {
  std::array<int, 2> size{};
  glfwGetWindowSize(window_, size.data(), &size[1]);
  return size;
}

void WakeWindow() { glfwPostEmptyEvent(); }

}  // namespace stallscope::app
