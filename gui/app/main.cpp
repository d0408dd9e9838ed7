// The program: exports a panel, or runs the window from its first frame to its last.
#include <imgui.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "analyzer/base/escape.h"
#include "analyzer/base/thread.h"
#include "gui/app/end_signals.h"
#include "gui/app/file_dialog.h"
#include "gui/app/options.h"
#include "gui/app/picture.h"
#include "gui/app/places.h"
#include "gui/app/window.h"
#include "gui/session/session.h"
#include "gui/viewmodel/snapshot.h"
#include "gui/views/path_box.h"
#include "gui/views/window.h"

namespace stallscope::app {
namespace {

namespace intent = session::intent;
using session::Intents;
using session::Request;
using session::Session;
using session::State;

// Dear ImGui needs a few frames to settle after an event: a window that sizes itself needs two, a
// tooltip that fades in a few more.
constexpr int kFramesAfterEvent = 4;
constexpr double kDialogPoll = 0.05;  // seconds, while a dialog of the desktop is open
constexpr double kCaretBlink = 0.4;   // seconds, while text is typed
constexpr double kProgress = 0.1;     // seconds, while workers are busy
constexpr double kAnimation = 1.0 / 60;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsSvg(const std::string& path) {
  return path.size() > 4 && path.compare(path.size() - 4, 4, ".svg") == 0;
}

class Loop {
 public:
  Loop(Window& window, Session& session, const Options& options)
      : window_(window), session_(session), options_(options), signals_([] { WakeWindow(); }) {}

  void Run() {
    int frames = kFramesAfterEvent;
    while (!window_.closing() && !quitting_ && !signals_.asked()) {
      const bool caret = Wait(frames);
      const bool asked = TakeEvents();
      const bool changed = session_.Poll();
      // Also while frames are still pending: a button released during the last of them would
      // otherwise show only with the next event.
      if (window_.TakeTouched() || caret || asked || changed) frames = kFramesAfterEvent;
      if (frames <= 0) continue;
      frames = DrawFrame() ? kFramesAfterEvent : frames - 1;
    }
    const std::array<int, 2> size = window_.Size();
    Intents intents;
    intents.Add(intent::SetWindowSize{size[0], size[1]});
    session_.Apply(intents);
  }

 private:
  // With nothing to draw it sleeps until an event, and polls only while a dialog, a text field or a
  // worker needs it. True if a caret has to blink.
  bool Wait(int frames) {
    if (frames > 0) {
      window_.Wait(kAnimation);
      return false;
    }
    const bool typing = ImGui::GetIO().WantTextInput;
    double seconds = -1;
    if (typing) seconds = kCaretBlink;
    if (!session_.state()->jobs.empty()) seconds = kProgress;
    if (dialog_.open()) seconds = kDialogPoll;
    window_.Wait(seconds);
    return typing;
  }

  // True if anything was asked for.
  bool TakeEvents() {
    Intents intents;
    for (std::string& path : window_.TakeDropped()) {
      intents.Add(intent::OpenFile{std::move(path), false});
    }
    if (const auto path = dialog_.Poll()) {
      if (!path->empty() && asked_ == Request::Kind::kOpenDialog) {
        views::AnswerOpen(*session_.state(), *path, intents);
      } else if (!path->empty()) {
        views::AnswerSave(*session_.state(), *path, intents);
      }
    }
    if (!intents.empty()) session_.Apply(intents);
    return !intents.empty();
  }

  // True if anything was asked for, so that the next frame will differ.
  bool DrawFrame() {
    const std::shared_ptr<const State> state = session_.state();
    const session::Settings& settings = state->settings;
    window_.Dress(options_.theme.value_or(settings.theme), options_.scale ? *options_.scale
                                                           : settings.scale > 0
                                                               ? settings.scale
                                                               : window_.screen_scale());
    Intents intents;
    const viewmodel::Snapshot& snapshot = composer_.Compose(state);
    window_.Frame([&] { views::DrawWindow(snapshot, intents); });
    TellTitle(*state);
    if (!intents.empty()) session_.Apply(intents);
    Answer(session_.state()->request);
    return !intents.empty();
  }

  void TellTitle(const State& state) {
    const session::OpenRun* run = state.Active();
    std::string title = run == nullptr ? "stallscope" : run->title + " - stallscope";
    if (title == title_) return;
    title_ = std::move(title);
    window_.SetTitle(Printable(title_));
  }

  void Answer(const Request& request) {
    if (request.number == answered_) return;
    answered_ = request.number;
    switch (request.kind) {
      case Request::Kind::kNone:
        return;
      case Request::Kind::kOpenDialog:
        return Ask(DialogKind::kOpen, request);
      case Request::Kind::kSaveDialog:
        return Ask(DialogKind::kSave, request);
      case Request::Kind::kCopy:
        // It may be pasted into a terminal.
        return window_.SetClipboard(PrintableLines(request.text));
      case Request::Kind::kExportPicture:
        return Export(request);
      case Request::Kind::kQuit:
        quitting_ = true;
        return;
    }
  }

  void Ask(DialogKind kind, const Request& request) {
    asked_ = request.kind;
    const auto command =
        DialogCommand(kind, request.path, Environment("PATH"), Environment("XDG_CURRENT_DESKTOP"));
    if (dialog_.Start(command)) return;
    Intents intents;
    intents.Add(intent::SetOverlay{kind == DialogKind::kOpen ? session::Overlay::kOpenPath
                                                             : session::Overlay::kSavePath});
    session_.Apply(intents);
  }

  void Export(const Request& request) {
    const std::shared_ptr<const State> state = session_.state();
    PictureLook look;
    look.theme = options_.theme.value_or(state->settings.theme);
    const PictureOrder order{IsSvg(request.path) ? PictureForm::kSvg : PictureForm::kPng,
                             request.panel, request.path};
    const Status written = WritePicture(*state, order, look);
    Intents intents;
    intents.Add(
        intent::Complain{written.ok() ? session::NoticeLevel::kInfo : session::NoticeLevel::kError,
                         written.ok() ? "wrote " + request.path : written.error().Line()});
    session_.Apply(intents);
  }

  Window& window_;
  Session& session_;
  const Options& options_;
  const EndSignals signals_;
  viewmodel::Composer composer_;
  FileDialog dialog_;
  Request::Kind asked_ = Request::Kind::kNone;
  uint64_t answered_ = 0;
  bool quitting_ = false;
  std::string title_;
};

// Returns when the window is closed. kRun if none can be opened.
Status RunWindow(const Options& options) {
  session::SessionOptions session_options;
  session_options.settings_path =
      session::SettingsPath([](const char* name) -> const char* { return std::getenv(name); });
  session_options.settings = session::ReadSettings(session_options.settings_path);
  session_options.program = CommandLineProgram();
  session_options.tool = "stallscope-gui " STALLSCOPE_VERSION;
  session_options.samples = SampleTraces();
  session_options.wake = [] { WakeWindow(); };
  STALLSCOPE_ASSIGN_OR_RETURN(const std::unique_ptr<Window> window,
                              Window::Open(session_options.settings));
  Session session(std::move(session_options));
  Intents intents;
  for (const std::string& trace : options.traces) intents.Add(intent::OpenFile{trace, false});
  if (options.traces.empty() && !session.state()->settings.tour_done) {
    intents.Add(intent::SetOverlay{session::Overlay::kTour});
  }
  session.Apply(intents);
  Loop(*window, session, options).Run();
  if (!session.Close()) {
    // Nobody waits for what still computes; everything else has ended and is written.
    std::fflush(nullptr);
    std::_Exit(0);
  }
  return {};
}

int Fail(const Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "stallscope-gui: %s\n", error.Line().c_str());
  return static_cast<int>(error.kind);
}

int Run(int argc, char** argv) {
  const auto options = ReadOptions(argc, argv);
  if (!options.ok()) return Fail(options.error());
  if (!options.value().text.empty()) {
    std::fputs(options.value().text.c_str(), stdout);
    return 0;
  }
  const Status done =
      options.value().picture ? ExportPicture(options.value()) : RunWindow(options.value());
  return done.ok() ? 0 : Fail(done.error());
}

}  // namespace
}  // namespace stallscope::app

int main(int argc, char** argv) {
  // A closed pipe is a failed write, not death by signal; so is a file that grows past its limit.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return stallscope::app::Run(argc, argv);
  } catch (...) {
    return stallscope::app::Fail(stallscope::CaughtError());
  }
}
