#include "tests/gui/views/stage.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "gui/raster/rasterize.h"
#include "gui/raster/svg.h"
#include "gui/views/keys.h"
#include "gui/views/window.h"

namespace stallscope::test {

using session::Intents;
using session::Panel;

Stage::Stage(StageOptions options) : options_(std::move(options)) {
  context_.Dress(options_.theme, options_.scale);
  context_.DrawStill(false);
  ImGuiIO& io = ImGui::GetIO();
  views::MapKeys(io);
  io.DisplaySize = {options_.width * static_cast<float>(options_.scale),
                    options_.height * static_cast<float>(options_.scale)};
  io.DeltaTime = 1.0f / 60;
  io.MousePos = {-1, -1};
  unsigned char* pixels = nullptr;
  io.Fonts->GetTexDataAsRGBA32(&pixels, &atlas_.width, &atlas_.height);
  atlas_.pixels = reinterpret_cast<const uint32_t*>(pixels);
  io.Fonts->SetTexID(&atlas_);
  views::Look& look = context_.look();
  look.lanes.texture = &strips_[0];
  look.base_lanes.texture = &strips_[1];
  look.now_lanes.texture = &strips_[2];

  session::SessionOptions session_options;
  session_options.side_files = false;
  session_options.settings.theme = options_.theme;
  session_options.settings.tour_done = true;
  session_options.settings_path = options_.settings_path;
  session_options.samples = options_.samples;
  session_options.tool = "test";
  session_ = std::make_unique<session::Session>(std::move(session_options));
  Frame(2);
}

void Stage::Frame(int count) {
  views::Look& look = context_.look();
  const std::array<views::Strip*, 3> strips = {&look.lanes, &look.base_lanes, &look.now_lanes};
  for (int i = 0; i < count; ++i) {
    session_->Poll();
    state_ = session_->state();
    Intents intents;
    snapshot_ = &composer_.Compose(state_);
    ImGui::NewFrame();
    if (options_.picture) {
      views::DrawPicture(*snapshot_, intents);
    } else {
      views::DrawWindow(*snapshot_, intents);
    }
    ImGui::Render();
    for (size_t s = 0; s < strips.size(); ++s) {
      strips_[s] = {strips[s]->width, strips[s]->height, strips[s]->pixels.data(), false};
    }
    ImGui::GetIO().MouseWheel = 0;
    asked_ = intents.list().size();
    session_->Apply(intents);
  }
  state_ = session_->state();
}

void Stage::Settle() {
  constexpr int kMostFrames = 60;
  int quiet = 0;
  for (int i = 0; i < kMostFrames && quiet < 2; ++i) {
    session_->Settle();
    Frame();
    quiet = asked_ == 0 ? quiet + 1 : 0;
  }
  CHECK_MESSAGE(quiet == 2, "the views never stop asking");
}

void Stage::Ask(Intents intents) {
  session_->Apply(intents);
  Settle();
}

void Stage::Open(const std::string& path) {
  Intents intents;
  intents.Add(session::intent::OpenFile{path, false});
  Ask(intents);
}

void Stage::Show(Panel panel) {
  Intents intents;
  intents.Add(session::intent::ShowPanel{panel});
  Ask(intents);
}

void Stage::MoveTo(ImVec2 at) {
  ImGui::GetIO().MousePos = at;
  Frame(2);
}

void Stage::Click(ImVec2 at, int button) {
  MoveTo(at);
  ImGui::GetIO().MouseDown[button] = true;
  Frame();
  ImGui::GetIO().MouseDown[button] = false;
  Frame();
  // Far enough apart that two clicks are not a double one.
  Frame(25);
  Settle();
}

void Stage::DoubleClick(ImVec2 at) {
  MoveTo(at);
  for (const bool down : {true, false, true, false}) {
    ImGui::GetIO().MouseDown[0] = down;
    Frame();
  }
  Settle();
}

void Stage::Drag(ImVec2 from, ImVec2 to, bool shift) {
  constexpr int kSteps = 8;
  ImGuiIO& io = ImGui::GetIO();
  io.KeyShift = shift;
  MoveTo(from);
  io.MouseDown[0] = true;
  Frame();
  for (int i = 1; i <= kSteps; ++i) {
    const float part = static_cast<float>(i) / kSteps;
    io.MousePos = {from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part};
    Frame();
  }
  io.MouseDown[0] = false;
  Frame();
  io.KeyShift = false;
  Frame(25);
  Settle();
}

void Stage::Wheel(ImVec2 at, float steps, bool shift, bool ctrl) {
  ImGuiIO& io = ImGui::GetIO();
  MoveTo(at);
  io.KeyShift = shift;
  io.KeyCtrl = ctrl;
  io.MouseWheel = steps;
  Frame();
  io.KeyShift = false;
  io.KeyCtrl = false;
  Settle();
}

void Stage::Input(const viewmodel::Chord& chord, bool down) {
  ImGuiIO& io = ImGui::GetIO();
  io.KeyCtrl = down && chord.ctrl;
  io.KeyShift = down && chord.shift;
  io.KeyAlt = down && chord.alt;
  const int place = views::PlaceOf(chord.key);
  if (place >= 0) io.KeysDown[place] = down;
  const auto printed = static_cast<unsigned>(chord.key);
  if (down && !chord.ctrl && !chord.alt && printed >= 32 && printed < 127) {
    // Letters are typed small.
    const bool letter = printed >= 'A' && printed <= 'Z';
    io.AddInputCharacter(letter && !chord.shift ? printed + 32 : printed);
  }
}

void Stage::Press(const viewmodel::Chord& chord) {
  Input(chord, true);
  Frame();
  Input(chord, false);
  Frame();
  Settle();
}

void Stage::Type(const std::string& text) {
  for (const char letter : text) {
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(letter));
    Frame();
  }
  Settle();
}

std::string Stage::Page() const {
  std::vector<raster::SvgFont> fonts;
  for (const views::FontFace& face :
       views::FacesOf(static_cast<const views::Look*>(ImGui::GetIO().UserData)->fonts)) {
    fonts.push_back({face.font, face.family, face.weight, face.em_per_height});
  }
  return raster::Svg(*ImGui::GetDrawData(), fonts, 0);
}

namespace {

// What a line of the page says; nothing where it is no text.
std::optional<std::string> TextOf(const std::string& line) {
  if (line.rfind("<text x=\"", 0) != 0) return std::nullopt;
  const size_t begin = line.find('>') + 1;
  std::string text = line.substr(begin, line.rfind("</text>") - begin);
  constexpr std::array<std::pair<const char*, const char*>, 5> kEntities = {
      {{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}}};
  for (const auto& [entity, letter] : kEntities) {
    for (size_t at = 0; (at = text.find(entity, at)) != std::string::npos; ++at) {
      text.replace(at, std::strlen(entity), letter);
    }
  }
  return text;
}

}  // namespace

std::optional<ImVec2> Stage::Find(const std::string& text, size_t nth) const {
  std::istringstream lines(Page());
  for (std::string line; std::getline(lines, line);) {
    const size_t at = TextOf(line).value_or("").find(text);
    if (at == std::string::npos) continue;
    if (nth-- > 0) continue;
    // The first letter's place among all letters' places.
    std::istringstream places(line.substr(9));
    float x = 0;
    for (size_t i = 0; i <= at; ++i) places >> x;
    const size_t y_at = line.find(" y=\"") + 4;
    const float y = std::strtof(line.c_str() + y_at, nullptr);
    return ImVec2(x + 3, y - 4);
  }
  return std::nullopt;
}

bool Stage::ClickText(const std::string& text, size_t nth) {
  const auto at = Find(text, nth);
  if (!at) return false;
  Click(*at);
  return true;
}

bool Stage::ClickWholeText(const std::string& text) {
  std::istringstream lines(Page());
  size_t nth = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string said = TextOf(line).value_or("");
    if (said == text) return ClickText(text, nth);
    if (said.find(text) != std::string::npos) ++nth;
  }
  return false;
}

ImVec2 Stage::LanesFrom() const {
  const auto& model = *snapshot_->timeline;
  return {ImGui::GetIO().DisplaySize.x - static_cast<float>(model.width) - 20, 120};
}

ImVec2 Stage::LanesTo() const {
  return {ImGui::GetIO().DisplaySize.x - 24, ImGui::GetIO().DisplaySize.y - 90};
}

raster::Image Stage::Picture() const {
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  const auto& look = *static_cast<const views::Look*>(ImGui::GetIO().UserData);
  raster::Image image(static_cast<int>(size.x), static_cast<int>(size.y), look.colors.window);
  raster::Rasterize(*ImGui::GetDrawData(), image);
  return image;
}

}  // namespace stallscope::test
