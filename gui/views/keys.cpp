#include "gui/views/keys.h"

#include <array>
#include <utility>

namespace stallscope::views {
namespace {

using viewmodel::Chord;
using viewmodel::Command;
using viewmodel::Key;

// GLFW's codes (glfw3.h), which this room does not see.
constexpr std::array<std::pair<Key, int>, 16> kPlaces = {{{Key::kEscape, 256},
                                                          {Key::kEnter, 257},
                                                          {Key::kTab, 258},
                                                          {Key::kBackspace, 259},
                                                          {Key::kDelete, 261},
                                                          {Key::kRight, 262},
                                                          {Key::kLeft, 263},
                                                          {Key::kDown, 264},
                                                          {Key::kUp, 265},
                                                          {Key::kPageUp, 266},
                                                          {Key::kPageDown, 267},
                                                          {Key::kHome, 268},
                                                          {Key::kEnd, 269},
                                                          {Key::kF1, 290},
                                                          {Key::kF5, 294},
                                                          {Key::kF11, 300}}};

// Matched by the typed character, whichever keys produce it.
bool IsTyped(const Chord& chord) {
  const Key key = chord.key;
  return !chord.ctrl && !chord.alt &&
         (key == viewmodel::KeyOf('?') || key == viewmodel::KeyOf('/') ||
          key == viewmodel::KeyOf('+'));
}

// Presses since the last frame; a held key repeats if the command does.
int Presses(const Chord& chord, bool repeats) {
  const ImGuiIO& io = ImGui::GetIO();
  if (chord.key == Key::kNone) return 0;
  // Shift is part of typing '?'.
  if (IsTyped(chord)) {
    int typed = 0;
    for (const ImWchar letter : io.InputQueueCharacters) {
      typed += letter == static_cast<ImWchar>(chord.key) ? 1 : 0;
    }
    return typed;
  }
  if (io.KeyCtrl != chord.ctrl || io.KeyAlt != chord.alt || io.KeyShift != chord.shift) return 0;
  const int place = PlaceOf(chord.key);
  if (place < 0) return 0;
  if (repeats) return ImGui::GetKeyPressedAmount(place, 0.12f, 0.03f);
  return ImGui::IsKeyPressed(place, false) ? 1 : 0;
}

// While a text field has the keyboard, only keys that it does not use are commands.
bool PassesField(const Chord& chord) {
  return (chord.ctrl && chord.key != viewmodel::KeyOf('A') && chord.key != viewmodel::KeyOf('C') &&
          chord.key != viewmodel::KeyOf('V') && chord.key != viewmodel::KeyOf('X') &&
          chord.key != viewmodel::KeyOf('Z')) ||
         chord.key == Key::kF1;
}

}  // namespace

void MapKeys(ImGuiIO& io) {
  constexpr std::array<std::pair<ImGuiKey, int>, 16> kOwn = {{{ImGuiKey_Escape, 256},
                                                              {ImGuiKey_Enter, 257},
                                                              {ImGuiKey_Tab, 258},
                                                              {ImGuiKey_Backspace, 259},
                                                              {ImGuiKey_Insert, 260},
                                                              {ImGuiKey_Delete, 261},
                                                              {ImGuiKey_RightArrow, 262},
                                                              {ImGuiKey_LeftArrow, 263},
                                                              {ImGuiKey_DownArrow, 264},
                                                              {ImGuiKey_UpArrow, 265},
                                                              {ImGuiKey_PageUp, 266},
                                                              {ImGuiKey_PageDown, 267},
                                                              {ImGuiKey_Home, 268},
                                                              {ImGuiKey_End, 269},
                                                              {ImGuiKey_Space, 32},
                                                              {ImGuiKey_KeyPadEnter, 335}}};
  for (const auto& [key, place] : kOwn) io.KeyMap[key] = place;
  io.KeyMap[ImGuiKey_A] = 'A';
  io.KeyMap[ImGuiKey_C] = 'C';
  io.KeyMap[ImGuiKey_V] = 'V';
  io.KeyMap[ImGuiKey_X] = 'X';
  io.KeyMap[ImGuiKey_Y] = 'Y';
  io.KeyMap[ImGuiKey_Z] = 'Z';
}

int PlaceOf(Key key) {
  for (const auto& [named, place] : kPlaces) {
    if (named == key) return place;
  }
  const auto printed = static_cast<int>(key);
  // The unshifted character of the same key.
  if (key == viewmodel::KeyOf('+')) return '=';
  if (key == viewmodel::KeyOf('?')) return '/';
  return printed > 0 && printed < 128 ? printed : -1;
}

void HandleKeys(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const ImGuiIO& io = ImGui::GetIO();
  const session::State& state = *snapshot.state;
  const bool overlay = state.overlay != session::Overlay::kNone;
  const bool menu = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  for (const Command& command : viewmodel::AllCommands()) {
    for (const Chord& chord : {command.chord, command.other_chord}) {
      // A field consumes Esc; the overlay closes all the same.
      const bool escape = chord.key == Key::kEscape;
      if (io.WantTextInput && !PassesField(chord) && !(escape && overlay)) continue;
      if (overlay && !escape && !PassesField(chord)) continue;
      if (escape && menu) continue;  // it closes the menu
      const int presses = Presses(chord, command.repeats);
      if (presses <= 0 || !command.enabled(state)) continue;
      for (int i = 0; i < presses; ++i) command.run(state, intents);
      break;  // both chords may be the same key on this keyboard
    }
  }
}

}  // namespace stallscope::views
