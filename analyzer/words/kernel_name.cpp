#include <cctype>
#include <string>

#include "analyzer/words/words.h"

namespace stallscope::words {
namespace {

void EraseAll(std::string& text, std::string_view what) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.erase(at, what.size());
  }
}

// With everything between `open` and `close`, at any depth. What is cut off is left.
void EraseBetween(std::string& text, char open, char close) {
  std::string kept;
  int depth = 0;
  for (const char c : text) {
    if (c == open) ++depth;
    if (depth == 0) kept += c;
    if (c == close && depth > 0) --depth;
  }
  text = std::move(kept);
}

bool InName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "at::native::add<c10::Half>" becomes "add<Half>".
void EraseScopes(std::string& text) {
  std::string kept;
  size_t begun = 0;  // where the last name of `kept` begins
  for (size_t i = 0; i < text.size(); ++i) {
    const bool first = InName(text[i]) && (i == 0 || !InName(text[i - 1]));
    if (first) begun = kept.size();
    const bool scope = text.compare(i, 2, "::") == 0;
    const bool of_a_name = i + 2 < text.size() && InName(text[i + 2]);
    if (scope && of_a_name && begun < kept.size() && InName(kept.back())) kept.resize(begun);
    if (scope && (!of_a_name || kept.size() == begun)) {
      ++i;
    } else {
      kept += text[i];
    }
  }
  text = std::move(kept);
}

}  // namespace

std::string KernelName(std::string_view name) {
  std::string text(name);
  if (text.find_first_of("<(:") == std::string::npos) return text;
  EraseAll(text, "(anonymous namespace)::");
  EraseBetween(text, '(', ')');
  EraseBetween(text, '{', '}');
  // What is left of lambdas: "launch_clamp_scalar::::operator const::".
  for (const char* const rest : {" const::", "::operator", "::::"}) EraseAll(text, rest);
  EraseAll(text, "void ");
  EraseScopes(text);
  for (size_t at = text.find("> >"); at != std::string::npos; at = text.find("> >")) {
    text.erase(at + 1, 1);
  }
  while (text.ends_with(' ')) text.pop_back();
  return text.empty() ? std::string(name) : text;
}

}  // namespace stallscope::words
