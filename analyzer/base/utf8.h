// UTF-8, character by character: the one decoder and the one encoder. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stallscope {

struct Character {
  char32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

// The character that begins at `text[at]`. A byte that begins none (a stray or missing continuation
// byte, an overlong form, a surrogate, a code past U+10FFFF) is one invalid character.
Character CharacterAt(std::string_view text, size_t at);

// Calls take(character, its bytes) for each; stops if take returns false.
template <class Take>
void ForEachCharacter(std::string_view text, Take&& take) {
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    if (!take(character, text.substr(at, character.bytes))) return;
    at += character.bytes;
  }
}

// `code` must be at most U+10FFFF and not a surrogate.
void AppendUtf8(char32_t code, std::string& text);

}  // namespace stallscope
