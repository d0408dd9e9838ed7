#include "gui/views/path_box.h"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "gui/views/look.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using session::OpenWhat;
using session::Overlay;
using session::SaveWhat;

std::string_view TitleOf(const session::State& state) {
  if (state.overlay == Overlay::kOpenPath) {
    switch (state.open) {
      case OpenWhat::kTrace:
        return "Open trace";
      case OpenWhat::kBase:
        return "Open trace to compare";
      case OpenWhat::kSpec:
        return "Open spec";
      case OpenWhat::kSweep:
        return "Open sweep";
      case OpenWhat::kDataFolder:
        return "Folder of the run's data";
    }
  }
  switch (state.save) {
    case SaveWhat::kHtml:
      return "Save report as HTML";
    case SaveWhat::kPicture:
      return "Save panel as a picture (.png or .svg)";
    case SaveWhat::kPatchedSpec:
      return "Save patched spec";
    case SaveWhat::kSpec:
      return "Save spec";
    case SaveWhat::kTrace:
      return "Record to file";
    case SaveWhat::kTable:
      return "Save table as CSV";
  }
  return "";
}

// Paths that start with `text`; folders end in '/'.
std::vector<std::string> Completions(const std::string& text, size_t most) {
  const std::filesystem::path typed(text);
  const std::filesystem::path folder =
      typed.parent_path().empty() ? std::filesystem::path(".") : typed.parent_path();
  const std::string begin = typed.filename().string();
  std::vector<std::string> found;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.rfind(begin, 0) != 0 || (begin.empty() && name.front() == '.')) continue;
    if (entry->is_directory(error)) name += '/';
    const std::filesystem::path parent = typed.parent_path();
    found.push_back((parent / name).string());
    if (found.size() == 4096) break;  // nobody reads a list that long
  }
  std::sort(found.begin(), found.end());
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace

void DrawPathBox(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const Look& look = TheLook();
  Memory& memory = TheLook().memory;
  const session::State& state = *snapshot.state;
  const bool open = state.overlay == Overlay::kOpenPath;
  if (memory.field_just_opened) memory.path_text = state.request.path;
  if (const Box box("path", 720, 480, 0.16f, intents); box.open()) {
    Heading(TitleOf(state));
    if (memory.field_just_opened) ImGui::SetKeyboardFocusHere();
    ImGui::SetNextItemWidth(-1);
    const bool entered = ImGui::InputTextWithHint("##path", "Path", &memory.path_text,
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    constexpr size_t kMost = 8;
    for (const std::string& path : Completions(memory.path_text, kMost)) {
      const std::string shown = Cut(*look.fonts.body, path, ImGui::GetContentRegionAvail().x);
      if (ImGui::Selectable((shown + "##" + path).c_str())) memory.path_text = path;
    }
    const bool accepted = ImGui::Button(open ? "Open" : "Save", {look.Px(110), 0}) || entered;
    ImGui::SameLine();
    if (ImGui::Button("Cancel", {look.Px(110), 0})) {
      intents.Add(intent::SetOverlay{Overlay::kNone});
    }
    if (accepted && !memory.path_text.empty()) {
      intents.Add(intent::SetOverlay{Overlay::kNone});
      if (open) {
        AnswerOpen(state, memory.path_text, intents);
      } else {
        AnswerSave(state, memory.path_text, intents);
      }
    }
  }
}

void AnswerOpen(const session::State& state, const std::string& path, session::Intents& intents) {
  switch (state.open) {
    case OpenWhat::kTrace:
      return intents.Add(intent::OpenFile{path, false});
    case OpenWhat::kBase:
      return intents.Add(intent::OpenFile{path, true});
    case OpenWhat::kSpec:
      return intents.Add(intent::OpenSpec{path});
    case OpenWhat::kSweep:
      return intents.Add(intent::OpenSweep{path});
    case OpenWhat::kDataFolder:
      return intents.Add(intent::FindData{path});
  }
}

void AnswerSave(const session::State& state, const std::string& path, session::Intents& intents) {
  switch (state.save) {
    case SaveWhat::kHtml:
      return intents.Add(intent::ExportHtml{path});
    case SaveWhat::kPicture:
      return intents.Add(intent::ExportPicture{state.view.panel, path});
    case SaveWhat::kPatchedSpec:
      return intents.Add(intent::SavePatchedSpec{state.save_finding, path});
    case SaveWhat::kSpec:
      return intents.Add(intent::SaveSpec{path});
    case SaveWhat::kTrace:
      return intents.Add(intent::StartRecording{path});
    case SaveWhat::kTable:
      return intents.Add(intent::ExportSpans{path});
  }
}

}  // namespace stallscope::views
