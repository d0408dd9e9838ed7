#include "gui/session/session.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "gui/session/answers.h"
#include "gui/session/desk.h"
#include "gui/session/files.h"
#include "gui/session/navigation.h"
#include "gui/session/recordings.h"
#include "gui/session/replays.h"
#include "gui/session/runs.h"

namespace stallscope::session {
namespace {

constexpr int kAwaitMs = 50;

// Settled does not wait for what goes on by itself.
bool GoesOnByItself(JobKind kind) { return kind == JobKind::kRecord || kind == JobKind::kFollow; }

}  // namespace

class Session::Core {
 public:
  explicit Core(SessionOptions options)
      : desk_(std::move(options)),
        navigation_(desk_),
        runs_(desk_, navigation_),
        answers_(desk_, navigation_),
        replays_(desk_, runs_),
        recordings_(desk_, runs_),
        files_(desk_) {
    if (!desk_.state.settings.tour_done && !desk_.state.samples.empty()) {
      desk_.state.overlay = Overlay::kTour;
    }
    Publish();
  }

  ~Core() {
    Keep();
    // Before the parts that jobs hand over to.
    desk_.workers.End();
  }

  bool Close() {
    Keep();
    const bool all = desk_.workers.EndWhatMatters();
    replays_.RemoveScratch();
    return all;
  }

  void Apply(const Intents& intents) {
    for (const Intent& intent : intents.list()) {
      std::visit([this](const auto& one) { On(one); }, intent);
    }
    Finish();
  }

  bool Poll() {
    const auto before = published_;
    desk_.workers.Poll();
    std::vector<Job> jobs = desk_.workers.Running();
    if (jobs != desk_.state.jobs) {
      desk_.state.jobs = std::move(jobs);
      desk_.changed = true;
    }
    Finish();
    return published_ != before;
  }

  void Settle() {
    for (Poll(); !desk_.workers.Idle(&GoesOnByItself) || !answers_.settled(); Poll()) {
      desk_.workers.Await(kAwaitMs);
    }
  }

  const std::shared_ptr<const State>& state() const { return published_; }

 private:
  // Whichever part takes the intent.
  template <class T>
  void On(const T& intent) {
    if constexpr (requires { navigation_.On(intent); }) {
      navigation_.On(intent);
    } else if constexpr (requires { runs_.On(intent); }) {
      runs_.On(intent);
    } else if constexpr (requires { answers_.On(intent); }) {
      answers_.On(intent);
    } else if constexpr (requires { replays_.On(intent); }) {
      replays_.On(intent);
    } else if constexpr (requires { recordings_.On(intent); }) {
      recordings_.On(intent);
    } else {
      files_.On(intent);
    }
  }
  void On(const intent::CopyText& copy) { desk_.Ask(Request::Kind::kCopy).text = copy.text; }
  void On(const intent::CancelJob& cancel) { desk_.workers.Cancel(cancel.job); }
  void On(const intent::DismissNotice& dismiss) {
    auto& notices = desk_.state.notices;
    notices.erase(
        std::remove_if(notices.begin(), notices.end(),
                       [&](const Notice& notice) { return notice.number == dismiss.notice; }),
        notices.end());
    desk_.changed = true;
  }
  void On(const intent::Complain& complain) { desk_.Notify(complain.level, complain.text); }
  void On(const intent::SetOverlay& set) {
    desk_.state.overlay = set.overlay;
    desk_.changed = true;
  }
  void On(const intent::AskToOpen& ask) { desk_.AskWhatToOpen(ask.what); }
  void On(const intent::SetPanelSize& set) {
    PanelSize& size = desk_.state.sizes[At(set.panel)];
    if (size == set.size) return;
    size = set.size;
    desk_.changed = true;
  }
  void On(const intent::Quit&) { desk_.Ask(Request::Kind::kQuit); }

  void Keep() {
    runs_.KeepNotes(/*at_end=*/true);
    files_.KeepSettings(/*at_end=*/true);
  }

  void Finish() {
    answers_.Refresh();
    replays_.Refresh();
    runs_.KeepNotes(/*at_end=*/false);
    files_.KeepSettings(/*at_end=*/false);
    if (desk_.changed) Publish();
  }

  void Publish() {
    desk_.state.can_go_back = navigation_.can_go_back();
    desk_.state.can_go_forward = navigation_.can_go_forward();
    ++desk_.state.version;
    published_ = std::make_shared<const State>(desk_.state);
    desk_.changed = false;
  }

  Desk desk_;
  Navigation navigation_;
  Runs runs_;
  Answers answers_;
  Replays replays_;
  Recordings recordings_;
  Files files_;
  std::shared_ptr<const State> published_;
};

Session::Session(SessionOptions options) : core_(std::make_unique<Core>(std::move(options))) {}

Session::~Session() = default;

void Session::Apply(const Intents& intents) { core_->Apply(intents); }

bool Session::Poll() { return core_->Poll(); }

bool Session::Close() { return core_->Close(); }

std::shared_ptr<const State> Session::state() const { return core_->state(); }

void Session::Settle() { core_->Settle(); }

}  // namespace stallscope::session
