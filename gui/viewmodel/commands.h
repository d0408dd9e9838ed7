// The one table of commands: menus, palette, `?` help, shortcuts and tests all read it. A command
// is data; running it turns a state into intents. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/session/intents.h"
#include "gui/session/state.h"

namespace stallscope::viewmodel {

// A key by its label ('A' to 'Z', '0' to '9', '.', ',', '/', '?', '+', '-'), or one of these. '?'
// and '/' mean the typed character, whichever keys the keyboard needs for it.
enum class Key : uint16_t {
  kNone = 0,
  kEscape = 256,
  kEnter,
  kTab,
  kBackspace,
  kDelete,
  kLeft,
  kRight,
  kUp,
  kDown,
  kHome,
  kEnd,
  kPageUp,
  kPageDown,
  kF1,
  kF5,
  kF11
};
constexpr Key KeyOf(char printed) { return static_cast<Key>(printed); }
constexpr Key KeyOf(Key key) { return key; }

struct Chord {
  Key key = Key::kNone;
  bool ctrl = false;
  bool shift = false;
  bool alt = false;
  bool operator==(const Chord&) const = default;
};
// "Ctrl+Shift+P", "W", "Alt+Left"; empty for none.
std::string NameOf(const Chord& chord);

enum class Menu : uint8_t { kFile, kView, kGo, kSelection, kPanel, kTools, kHelp };
constexpr size_t kMenus = 7;
std::string_view TitleOf(Menu menu);

struct Command {
  std::string_view id;    // "view.fit": stable, for tests and scripts
  std::string_view name;  // "Fit whole run"
  Menu menu = Menu::kFile;
  Chord chord;  // none: no key
  // Whether it makes sense now; otherwise a menu grays it out, and the palette omits it.
  bool (*enabled)(const session::State& state) = nullptr;
  void (*run)(const session::State& state, session::Intents& intents) = nullptr;
  Chord other_chord = {};  // a second key
  bool repeats = false;    // while the key is held
};

std::span<const Command> AllCommands();
// Enabled commands whose name contains the letters of `text` in order, best first: letters that
// start words, and that are close together. All enabled ones for an empty text.
std::vector<const Command*> SearchCommands(std::string_view text, const session::State& state);

}  // namespace stallscope::viewmodel
