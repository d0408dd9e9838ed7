// The whole program without a window: a session, its views on a backend-less context, and a user
// with a mouse and a keyboard. What is on the screen can be found by its text.
#pragma once

#include <imgui.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/raster/image.h"
#include "gui/session/session.h"
#include "gui/viewmodel/commands.h"
#include "gui/viewmodel/snapshot.h"
#include "gui/views/look.h"

namespace stallscope::test {

struct StageOptions {
  session::Theme theme = session::Theme::kDark;
  double scale = 1;
  float width = 1600;
  float height = 900;
  bool picture = false;  // one panel alone, as --export-png draws it
  std::string settings_path;
  std::vector<std::string> samples;
};

class Stage {
 public:
  explicit Stage(StageOptions options = {});

  // Opens a trace, waits for all that is to be known of it and draws until nothing moves.
  void Open(const std::string& path);
  void Show(session::Panel panel);
  void Ask(session::Intents intents);
  // Frames at 60 a second; what the views ask for is done between them.
  void Frame(int count = 1);
  // Frames until two of them ask for nothing, and no worker is busy.
  void Settle();

  // The user. Each ends with the frames that Dear ImGui needs to notice.
  void MoveTo(ImVec2 at);
  void Click(ImVec2 at, int button = 0);
  void DoubleClick(ImVec2 at);
  void Drag(ImVec2 from, ImVec2 to, bool shift = false);
  void Wheel(ImVec2 at, float steps, bool shift = false, bool ctrl = false);
  void Press(const viewmodel::Chord& chord);
  void Key(char printed) { Press({viewmodel::KeyOf(printed)}); }
  void Key(viewmodel::Key key) { Press({key}); }
  void Type(const std::string& text);

  // The middle of a text on the screen that contains `text`; nothing where there is none. The n-th
  // of several.
  std::optional<ImVec2> Find(const std::string& text, size_t nth = 0) const;
  bool Sees(const std::string& text) const { return Find(text).has_value(); }
  // False where it is not there.
  bool ClickText(const std::string& text, size_t nth = 0);
  // One that says nothing else: a column's head, not the field that has the word in it, too.
  bool ClickWholeText(const std::string& text);

  const session::State& state() const { return *state_; }
  const viewmodel::Snapshot& snapshot() const { return *snapshot_; }
  session::Session& session() { return *session_; }
  views::Look& look() { return context_.look(); }
  // Where the timeline's lanes lie.
  ImVec2 LanesFrom() const;
  ImVec2 LanesTo() const;
  std::string Page() const;  // the screen as SVG
  raster::Image Picture() const;

 private:
  void Input(const viewmodel::Chord& chord, bool down);

  StageOptions options_;
  views::Context context_;
  std::unique_ptr<session::Session> session_;
  viewmodel::Composer composer_;
  std::shared_ptr<const session::State> state_;
  const viewmodel::Snapshot* snapshot_ = nullptr;
  raster::Texture atlas_;
  std::array<raster::Texture, 3> strips_;
  size_t asked_ = 0;  // intents of the last frame
};

}  // namespace stallscope::test
