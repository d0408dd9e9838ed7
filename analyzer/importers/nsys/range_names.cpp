#include "analyzer/importers/nsys/range_names.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace stallscope::importers::nsys {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// As a word of its own: "step" of "train step", not of "stepping".
bool ContainsWord(std::string_view key, std::string_view word) {
  for (size_t at = key.find(word); at != std::string_view::npos; at = key.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !IsLetter(key[at - 1]);
    if (begins && (end == key.size() || !IsLetter(key[end]))) return true;
  }
  return false;
}

}  // namespace

std::string RangeKey(std::string_view text) {
  std::string key;
  for (const char c : text) {
    if (IsDigit(c)) continue;
    const bool joins = c == ' ' || c == '_' || c == '-' || c == '#' || c == ':' || c == '=' ||
                       c == '[' || c == ']' || c == '/' || c == ',';
    if (joins) {
      if (!key.empty() && key.back() != ' ') key += ' ';
    } else {
      key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  while (!key.empty() && key.back() == ' ') key.pop_back();
  return key;
}

std::optional<uint64_t> RangeNumber(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && !IsDigit(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && IsDigit(text[begin - 1])) --begin;
  uint64_t number = 0;
  const auto read = std::from_chars(text.data() + begin, text.data() + end, number);
  if (begin == end || read.ec != std::errc()) return std::nullopt;
  return number;
}

int StepRank(std::string_view key) {
  if (key == "profilerstep") return 5;
  // Parts of a step, which come as often.
  constexpr std::array<std::string_view, 9> kParts = {
      "optimizer", "forward", "backward", "loss", "data", "load", "zero", "scheduler", "eval"};
  for (const std::string_view part : kParts) {
    if (Contains(key, part)) return 0;
  }
  if (ContainsWord(key, "step")) return 4;
  if (ContainsWord(key, "iteration") || ContainsWord(key, "iter")) return 3;
  if (key == "batch" || key == "train batch" || key == "training batch") return 2;
  return 0;
}

bool IsLoader(std::string_view key) {
  constexpr std::array<std::string_view, 8> kWords = {"dataloader", "data loading", "data load",
                                                      "load data",  "load batch",   "next batch",
                                                      "get batch",  "fetch batch"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return Contains(key, word); }) ||
         key == "data" || key == "input" || key == "loader";
}

bool IsFrameworkOp(std::string_view text) {
  return Contains(text, "op_id = ") || text.substr(0, 6) == "aten::" || Contains(text, "Backward0");
}

}  // namespace stallscope::importers::nsys
