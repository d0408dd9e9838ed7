#include "gui/views/overlays.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/words/words.h"
#include "gui/viewmodel/commands.h"
#include "gui/views/look.h"
#include "gui/views/path_box.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using session::Overlay;
using viewmodel::Command;

// The palette: every command by its name.

void Run(const Command& command, const session::State& state, session::Intents& intents) {
  // Close the palette first: what the command opens must stay.
  intents.Add(intent::SetOverlay{Overlay::kNone});
  command.run(state, intents);
}

bool DrawCommandRow(const Command& command, bool chosen) {
  const Look& look = TheLook();
  const float width = ImGui::GetContentRegionAvail().x;
  const float high = look.Pitch() + look.Px(4);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::PushID(command.id.data(), command.id.data() + command.id.size());
  const bool clicked = ImGui::InvisibleButton("command", {width, high});
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (chosen || ImGui::IsItemHovered()) {
    list.AddRectFilled(at, {at.x + width, at.y + high},
                       chosen ? WithAlpha(look.colors.accent, 0.25f) : look.colors.raised,
                       look.Px(4));
  }
  ImGui::PopID();
  const std::string key = viewmodel::NameOf(command.chord);
  const float key_width = WidthOf(*look.fonts.small, key) + look.Px(16);
  const float top = at.y + (high - look.fonts.body->FontSize) / 2;
  PutCut(list, *look.fonts.body, {at.x + look.Px(8), top}, width - key_width - look.Px(16),
         look.colors.text, command.name);
  PutRight(list, *look.fonts.small, {at.x + width - look.Px(8), top + look.Px(1)},
           look.colors.muted, key);
  return clicked;
}

void DrawPalette(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  Memory& memory = TheLook().memory;
  const session::State& state = *snapshot.state;
  constexpr size_t kMostRows = 12;
  if (memory.field_just_opened) {
    memory.palette_text.clear();
    memory.palette_row = 0;
  }
  if (const Box box("palette", 560, 520, 0.12f, intents); box.open()) {
    if (memory.field_just_opened) ImGui::SetKeyboardFocusHere();
    ImGui::SetNextItemWidth(-1);
    const bool entered = ImGui::InputTextWithHint(
        "##command", "Type a command", &memory.palette_text, ImGuiInputTextFlags_EnterReturnsTrue);
    const std::vector<const Command*> found = viewmodel::SearchCommands(memory.palette_text, state);
    const auto shown = static_cast<int>(std::min(kMostRows, found.size()));
    if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_DownArrow))) ++memory.palette_row;
    if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_UpArrow))) --memory.palette_row;
    memory.palette_row = std::clamp(memory.palette_row, 0, std::max(0, shown - 1));
    for (int i = 0; i < shown; ++i) {
      if (DrawCommandRow(*found[static_cast<size_t>(i)], i == memory.palette_row)) {
        Run(*found[static_cast<size_t>(i)], state, intents);
      }
    }
    if (shown == 0) Line("No matching commands", TheLook().colors.muted);
    if (entered && shown > 0) {
      Run(*found[static_cast<size_t>(memory.palette_row)], state, intents);
    }
  }
}

// Help: every key, from the table of commands, and what the mouse does.

struct KeyRow {
  std::string key;
  std::string what;
};

std::vector<KeyRow> RowsOf(viewmodel::Menu menu) {
  std::vector<KeyRow> rows;
  for (const Command& command : viewmodel::AllCommands()) {
    if (command.menu != menu) continue;
    std::string key = viewmodel::NameOf(command.chord);
    const std::string other = viewmodel::NameOf(command.other_chord);
    if (!other.empty()) key += " or " + other;
    if (!key.empty()) rows.push_back({key, std::string(command.name)});
  }
  return rows;
}

void DrawRows(const std::string& title, const std::vector<KeyRow>& rows, float width) {
  const Look& look = TheLook();
  if (rows.empty()) return;
  const InFont small(look.fonts.small);
  {
    const InFont bold(look.fonts.bold);
    Line(title, look.colors.text, width);
  }
  const float keys = std::floor(width * 0.4f);
  for (const KeyRow& row : rows) {
    const float x = ImGui::GetCursorPosX();
    Line(row.key, look.colors.accent, keys - look.Px(8));
    ImGui::SameLine();
    ImGui::SetCursorPosX(x + keys);
    Line(row.what, look.colors.text, width - keys);
  }
  ImGui::Dummy({0, look.Px(6)});
}

void DrawHelp(const viewmodel::Snapshot&, session::Intents& intents) {
  const Look& look = TheLook();
  const std::vector<KeyRow> mouse = {{"wheel", "zoom at the pointer"},
                                     {"Shift+wheel", "pan"},
                                     {"drag", "pan and scroll"},
                                     {"Shift+drag", "measure a range"},
                                     {"drag on the ruler", "measure a range"},
                                     {"click", "select; on a stall, explain it"},
                                     {"double-click", "fit the selection"},
                                     {"right-click a table", "copy it"}};
  if (const Box box("help", 1060, 860, 0.05f, intents); box.open()) {
    {
      const InFont title(look.fonts.title);
      Line("Keyboard and mouse");
    }
    constexpr int kColumns = 3;
    const float gap = look.Px(24);
    const float width =
        std::floor((ImGui::GetContentRegionAvail().x - gap * (kColumns - 1)) / kColumns);
    using viewmodel::Menu;
    const std::array<std::vector<Menu>, kColumns> menus = {
        {{Menu::kView, Menu::kGo},
         {Menu::kFile, Menu::kPanel},
         {Menu::kSelection, Menu::kTools, Menu::kHelp}}};
    for (size_t column = 0; column < menus.size(); ++column) {
      if (column > 0) ImGui::SameLine(0, gap);
      ImGui::BeginGroup();
      for (const Menu menu : menus[column]) {
        DrawRows(std::string(viewmodel::TitleOf(menu)), RowsOf(menu), width);
      }
      if (column == 2) DrawRows("On the timeline", mouse, width);
      ImGui::EndGroup();
    }
    Line("Esc closes this. Ctrl+Shift+P lists all commands, including those without a key.",
         look.colors.muted);
  }
}

// The search box: finds spans by name.

void DrawFind(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  Look& look = TheLook();
  const session::State& state = *snapshot.state;
  if (look.memory.field_just_opened) look.memory.find_text = state.find_text;
  ImGui::SetNextWindowPos({ImGui::GetIO().DisplaySize.x - look.Px(16), look.Px(44)}, 0, {1, 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, look.colors.card);
  ImGui::Begin("find", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove);
  ImGui::PopStyleColor();
  if (look.memory.field_just_opened) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(look.Px(280));
  const bool entered =
      ImGui::InputTextWithHint("##find", "stage, kernel, duration>2ms", &look.memory.find_text,
                               ImGuiInputTextFlags_EnterReturnsTrue);
  if (look.memory.find_text != state.find_text) {
    intents.Add(intent::Find{look.memory.find_text});
  }
  if (entered) {
    intents.Add(intent::FindNext{ImGui::GetIO().KeyShift ? -1 : 1});
    ImGui::SetKeyboardFocusHere(-1);
  }
  ImGui::SameLine();
  const std::string hits = state.find_text.empty() ? ""
                           : state.find_hits == 0  ? "no matches"
                                                   : words::Grouped(state.find_at + 1) + " of " +
                                                        words::Grouped(state.find_hits);
  ImGui::AlignTextToFramePadding();
  const InColor muted(look.colors.muted);
  ImGui::TextUnformatted(hits.c_str());
  ImGui::SameLine();
  if (ImGui::Button("Previous")) intents.Add(intent::FindNext{-1});
  ImGui::SameLine();
  if (ImGui::Button("Next")) intents.Add(intent::FindNext{1});
  ImGui::End();
}

// The tour on first start: three steps, and a sample to try them on.

struct TourStep {
  std::string_view title;
  std::string_view text;
  session::Panel panel;
};

constexpr std::array<TourStep, 3> kTour = {
    {{"1 of 3: the verdict",
      "Overview sums up what bounds the run, where step time goes, and which change would gain the "
      "most. The green line at the top shows whether the trace can be trusted.",
      session::Panel::kOverview},
     {"2 of 3: the proof",
      "Timeline shows every thread, queue and device over time. Stalls are hatched: click one to "
      "see "
      "the chain of waits that caused it. W and S zoom, A and D pan, F fits the whole run.",
      session::Panel::kTimeline},
     {"3 of 3: the fix",
      "Findings lists what to change, with the predicted gain and the code for your framework. "
      "Verify runs the change and shows the measured gain next to the prediction.",
      session::Panel::kFindings}}};

// The sample with the most to show.
std::string BestSample(const session::State& state) {
  for (const std::string& path : state.samples) {
    if (path.find("input_decode") != std::string::npos) return path;
  }
  return state.samples.empty() ? "" : state.samples.front();
}

void GoTo(int step, session::Intents& intents) {
  intents.Add(intent::TourStep{step});
  if (step < static_cast<int>(kTour.size())) {
    intents.Add(intent::ShowPanel{kTour[static_cast<size_t>(step)].panel});
  }
}

void DrawTour(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const Look& look = TheLook();
  const session::State& state = *snapshot.state;
  const int last = static_cast<int>(kTour.size()) - 1;
  const int step = std::clamp(state.tour_step, 0, last);
  const TourStep& shown = kTour[static_cast<size_t>(step)];
  // In a corner, without a veil: what it describes must stay visible.
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x - look.Px(24), display.y - look.Px(52)}, 0, {1, 1});
  ImGui::SetNextWindowSize({std::min(look.Px(460), display.x - look.Px(48)), 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, look.colors.card);
  ImGui::PushStyleColor(ImGuiCol_Border, look.colors.accent);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, look.Px(8));
  ImGui::Begin("tour", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoMove | ImGuiWindowFlags_AlwaysAutoResize);
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(2);
  Heading(shown.title);
  Paragraph(shown.text, look.colors.text);
  ImGui::Dummy({0, look.Px(4)});
  const std::string sample = BestSample(state);
  if (state.runs.empty() && !sample.empty()) {
    if (ImGui::Button("Open sample")) intents.Add(intent::OpenFile{sample, false});
    ImGui::SameLine();
  }
  if (step > 0) {
    if (ImGui::Button("Back")) GoTo(step - 1, intents);
    ImGui::SameLine();
  }
  if (ImGui::Button(step < last ? "Next" : "Done")) GoTo(step + 1, intents);
  if (step < last) {
    ImGui::SameLine();
    if (ImGui::Button("Skip")) intents.Add(intent::TourStep{static_cast<int>(kTour.size())});
  }
  ImGui::End();
}

// The question: what the user must settle before a trace's own command runs again.

bool IsPressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key), false); }

using Answer = std::pair<const char*, void (*)(session::Intents&)>;

// The last one changes nothing.
std::vector<Answer> AnswersTo(const session::Question& question) {
  const Answer cancel{"Cancel", [](session::Intents& to) { to.Add(intent::CancelRerun{}); }};
  if (question.kind == session::Question::Kind::kAgree) {
    return {{"Run it", [](session::Intents& to) { to.Add(intent::ConfirmRerun{}); }}, cancel};
  }
  return {{"Name the folder", [](session::Intents& to) { to.Add(intent::FindData{}); }},
          {"Emulate", [](session::Intents& to) { to.Add(intent::EmulateRerun{}); }},
          cancel};
}

// Enter gives the framed answer.
bool DrawAnswer(const char* text, bool chosen) {
  const Look& look = TheLook();
  ImGui::PushStyleColor(ImGuiCol_Border, chosen ? look.colors.accent : look.colors.card);
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, look.Px(2));
  const bool clicked =
      ImGui::Button(text, {std::max(look.Px(110), ImGui::CalcTextSize(text).x + look.Px(24)), 0});
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  return clicked;
}

void DrawQuestion(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const Look& look = TheLook();
  Memory& memory = TheLook().memory;
  const session::Question& question = snapshot.state->question;
  // The key press that asked for the run must not also confirm it.
  const bool opened = memory.field_just_opened;
  const std::vector<Answer> answers = AnswersTo(question);
  size_t& chosen = memory.question_answer;
  if (opened || chosen >= answers.size()) chosen = answers.size() - 1;
  if (const Box box("question", 720, 560, 0.16f, intents); box.open()) {
    Heading(question.title);
    const float most = ImGui::GetIO().DisplaySize.y * 0.5f;
    float high = 0;
    for (const std::string& line : question.lines) {
      high += ParagraphHeight(line, ImGui::GetContentRegionAvail().x - look.Px(20)) +
              ImGui::GetStyle().ItemSpacing.y;
    }
    // A long list of files scrolls, so that the answers stay visible.
    ImGui::BeginChild("lines", {0, std::min(high + look.Px(4), most)});
    for (const std::string& line : question.lines) Paragraph(line, look.colors.text);
    ImGui::EndChild();
    if (!opened && IsPressed(ImGuiKey_LeftArrow))
      chosen = (chosen + answers.size() - 1) % answers.size();
    if (!opened && (IsPressed(ImGuiKey_RightArrow) || IsPressed(ImGuiKey_Tab))) {
      chosen = (chosen + 1) % answers.size();
    }
    const bool entered = !opened && (IsPressed(ImGuiKey_Enter) || IsPressed(ImGuiKey_KeyPadEnter));
    for (size_t i = 0; i < answers.size(); ++i) {
      if (DrawAnswer(answers[i].first, i == chosen) || (entered && i == chosen)) {
        answers[i].second(intents);
      }
      ImGui::SameLine();
    }
    ImGui::AlignTextToFramePadding();
    Line("Tab switches, Enter confirms the framed answer, Esc cancels.", look.colors.muted);
  }
}

}  // namespace

void DrawOverlay(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  Memory& memory = TheLook().memory;
  const Overlay overlay = snapshot.state->overlay;
  memory.field_just_opened = memory.last_overlay != overlay;
  memory.last_overlay = overlay;
  switch (overlay) {
    case Overlay::kNone:
      return;
    case Overlay::kPalette:
      return DrawPalette(snapshot, intents);
    case Overlay::kHelp:
      return DrawHelp(snapshot, intents);
    case Overlay::kFind:
      return DrawFind(snapshot, intents);
    case Overlay::kOpenPath:
    case Overlay::kSavePath:
      return DrawPathBox(snapshot, intents);
    case Overlay::kTour:
      return DrawTour(snapshot, intents);
    case Overlay::kQuestion:
      return DrawQuestion(snapshot, intents);
  }
}

}  // namespace stallscope::views
