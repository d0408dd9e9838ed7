// Asks for a path where the desktop has no dialog for it.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "gui/views/look.h"
#include "gui/views/overlays.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using session::OpenWhat;
using session::SaveWhat;

std::string_view TitleOf(const session::State& state) {
  if (state.overlay == session::Overlay::kOpenPath) {
    switch (state.open) {
      case OpenWhat::kTrace:
        return "Open a trace";
      case OpenWhat::kBase:
        return "Open a trace to compare with";
      case OpenWhat::kSpec:
        return "Open a spec";
      case OpenWhat::kSweep:
        return "Open a sweep";
      case OpenWhat::kDataFolder:
        return "Folder of the run's data";
    }
  }
  switch (state.save) {
    case SaveWhat::kHtml:
      return "Save the report as HTML";
    case SaveWhat::kPicture:
      return "Save this panel as a picture (.png or .svg)";
    case SaveWhat::kPatchedSpec:
      return "Save the patched spec";
    case SaveWhat::kSpec:
      return "Save the spec";
    case SaveWhat::kTrace:
      return "Record to";
    case SaveWhat::kTable:
      return "Save the table as CSV";
  }
  return "";
}

// What begins like `text` in its folder; folders end in '/'.
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
    if (found.size() == 4096) break;  // a folder that nobody reads to its end
  }
  std::sort(found.begin(), found.end());
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace

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

void DrawPathBox(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const Look& look = TheLook();
  Memory& memory = TheLook().memory;
  const session::State& state = *snapshot.state;
  const bool open = state.overlay == session::Overlay::kOpenPath;
  if (memory.field_just_opened) memory.path_text = state.request.path;
  if (BeginBox("path", 720, 480, 0.16f, intents)) {
    Heading(TitleOf(state));
    if (memory.field_just_opened) ImGui::SetKeyboardFocusHere();
    ImGui::SetNextItemWidth(-1);
    const bool entered = ImGui::InputTextWithHint("##path", "a path", &memory.path_text,
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    constexpr size_t kMost = 8;
    for (const std::string& path : Completions(memory.path_text, kMost)) {
      const std::string shown = Cut(*look.fonts.body, path, ImGui::GetContentRegionAvail().x);
      if (ImGui::Selectable((shown + "##" + path).c_str())) memory.path_text = path;
    }
    const bool accepted = ImGui::Button(open ? "Open" : "Save", {look.Px(110), 0}) || entered;
    ImGui::SameLine();
    if (ImGui::Button("Cancel", {look.Px(110), 0})) {
      intents.Add(intent::SetOverlay{session::Overlay::kNone});
    }
    if (accepted && !memory.path_text.empty()) {
      intents.Add(intent::SetOverlay{session::Overlay::kNone});
      if (open) {
        AnswerOpen(state, memory.path_text, intents);
      } else {
        AnswerSave(state, memory.path_text, intents);
      }
    }
  }
  EndBox();
}

}  // namespace stallscope::views
