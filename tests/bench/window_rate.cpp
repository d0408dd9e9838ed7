// The desktop program's figures on a screen: whole frames of the real window, from the state to the
// last pixel.
//
//   window_rate FILE START_NS    open FILE in a window of 1600 x 900 and draw it; one figure per
//                                line: name, value, and for frames the 99th percentile after the
//                                median
//
// START_NS is when the caller started this program, by the monotonic clock. FILE is one that
// attribution_rate has written. A frame ends when it is on the screen: glFinish waits.
#include <GLFW/glfw3.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/clock.h"
#include "gui/app/window.h"
#include "gui/session/session.h"
#include "gui/viewmodel/snapshot.h"
#include "gui/views/look.h"
#include "gui/views/window.h"

namespace {

using namespace stallscope;  // NOLINT(google-build-using-namespace)
namespace intent = session::intent;

double MsSince(int64_t begin_ns) { return static_cast<double>(MonotonicNs() - begin_ns) / 1e6; }

void Print(const char* name, std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  std::printf("%s %.4f %.4f\n", name, ms[ms.size() / 2], ms[ms.size() * 99 / 100]);
}

// What the program's loop does, without waiting for events.
class Stage {
 public:
  Stage(app::Window& window, session::Session& session) : window_(window), session_(session) {}

  // Milliseconds for one frame after `ask` changed something.
  double Frame(const std::function<void(session::Intents&)>& ask = {}) {
    glfwPollEvents();
    const int64_t begin = MonotonicNs();
    session::Intents intents;
    if (ask) ask(intents);
    if (!intents.empty()) session_.Apply(intents);
    session_.Poll();
    intents.Clear();
    window_.Dress(session::Theme::kDark, 1);
    const viewmodel::Snapshot& snapshot = composer_.Compose(session_.state());
    window_.Frame([&] {
      views::DrawWindow(snapshot, intents);
      made_ms_.push_back(MsSince(begin));
    });
    glFinish();
    const double ms = MsSince(begin);
    if (!intents.empty()) session_.Apply(intents);
    return ms;
  }
  // Until nothing is pending.
  void Settle() {
    for (int i = 0; i < 4; ++i) {
      session_.Settle();
      Frame();
    }
  }
  void Show(session::Panel panel) {
    Frame([&](session::Intents& intents) { intents.Add(intent::ShowPanel{panel}); });
    Settle();
  }
  const session::State& state() const { return *session_.state(); }
  // What the last frames took up to their triangles, before rendering.
  std::vector<double> TakeMade() { return std::exchange(made_ms_, {}); }

 private:
  app::Window& window_;
  session::Session& session_;
  viewmodel::Composer composer_;
  std::vector<double> made_ms_;
};

std::vector<double> Frames(Stage& stage, int count,
                           const std::function<void(int, session::Intents&)>& ask) {
  std::vector<double> ms;
  for (int i = 0; i < count; ++i) {
    ms.push_back(stage.Frame([&](session::Intents& intents) { ask(i, intents); }));
  }
  return ms;
}

void DrawTimeline(Stage& stage) {
  stage.Show(session::Panel::kTimeline);
  const session::Range whole = stage.state().view.visible;
  Print("frame_unchanged_ms", Frames(stage, 60, [](int, session::Intents&) {}));
  // Nearly all of the run, a little less each time: every lane is redrawn.
  Print("frame_fit_ms", Frames(stage, 60, [&](int i, session::Intents& intents) {
          intents.Add(intent::ShowRange{{whole.start_ns + i + 1, whole.end_ns}, i > 0});
        }));
  Print("frame_zoom_ms", Frames(stage, 240, [&](int i, session::Intents& intents) {
          intents.Add(intent::Zoom{i < 120 ? 1.08 : 1 / 1.08, whole.start_ns + whole.ns() / 3});
        }));
}

void ScrollSpans(Stage& stage) {
  stage.Show(session::Panel::kSpans);
  const size_t rows = stage.state().spans.list->rows.size();
  std::printf("rows %zu\n", rows);
  stage.TakeMade();
  Print("frame_table_ms", Frames(stage, 120, [&](int i, session::Intents&) {
          views::TheLook().memory.span_first_row =
              static_cast<size_t>(i) * 104'729 * 31 % (rows - 100);
        }));
  Print("table_without_rendering_ms", stage.TakeMade());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: window_rate FILE START_NS\n");
    return 2;
  }
  const int64_t start_ns = std::strtoll(argv[2], nullptr, 10);
  auto window = app::Window::Open({});
  if (!window.ok()) {
    std::fprintf(stderr, "%s\n", window.error().Line().c_str());
    return 5;
  }
  session::SessionOptions options;
  options.settings.tour_done = true;
  options.side_files = false;
  session::Session session(std::move(options));
  Stage stage(*window.value(), session);
  stage.Frame([&](session::Intents& intents) { intents.Add(intent::OpenFile{argv[1], false}); });
  std::printf("first_frame_ms %.1f\n", MsSince(start_ns));
  const int64_t opened_ns = MonotonicNs();
  while (stage.state().Active()->index == nullptr && !stage.state().Active()->error) stage.Frame();
  stage.Frame(
      [](session::Intents& intents) { intents.Add(intent::ShowPanel{session::Panel::kTimeline}); });
  std::printf("file_to_timeline_ms %.1f\n", MsSince(opened_ns));
  stage.Settle();
  std::printf("file_to_everything_ms %.1f\n", MsSince(opened_ns));
  if (stage.state().Active()->error) return 3;
  DrawTimeline(stage);
  ScrollSpans(stage);
  return 0;
}
