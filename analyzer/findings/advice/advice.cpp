#include "analyzer/findings/advice/advice.h"

#include <algorithm>
#include <cctype>

namespace stallscope::findings::advice {
namespace {

void Replace(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
}

// The stage's name as one that Python takes.
std::string Identifier(const std::string& name) {
  std::string identifier;
  for (char letter : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    identifier += fits ? letter : '_';
  }
  const bool digit =
      !identifier.empty() && std::isdigit(static_cast<unsigned char>(identifier.front())) != 0;
  return identifier.empty() || digit ? "stage_" + identifier : identifier;
}

std::string In(std::span<const Line> table, std::string_view id, const Words& words) {
  const auto line =
      std::find_if(table.begin(), table.end(), [&](const Line& l) { return l.id == id; });
  if (line == table.end()) return "";
  std::string code(line->code);
  Replace(code, "{stage}", Identifier(words.stage));
  Replace(code, "{value}", words.value);
  return code;
}

}  // namespace

Code CodeFor(std::string_view id, const Words& words) {
  return {In(TfData(), id, words), In(Pytorch(), id, words), In(Dali(), id, words),
          In(Grain(), id, words)};
}

}  // namespace stallscope::findings::advice
