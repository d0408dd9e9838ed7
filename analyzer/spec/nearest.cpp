#include "analyzer/spec/nearest.h"

#include <algorithm>

namespace stallscope {
namespace {

constexpr size_t kLongestWord = 64;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Cuts in front of a character of several bytes, not inside it.
std::string_view CutTo(std::string_view word, size_t bytes) {
  if (word.size() <= bytes) return word;
  while (bytes > 0 && (static_cast<unsigned char>(word[bytes]) & 0xC0u) == 0x80u) --bytes;
  return word.substr(0, bytes);
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = Lower(a[i - 1]) == Lower(b[j - 1]) ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) &&
                           Lower(a[i - 2]) == Lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view start = CutTo(word, kLongestWord);
  std::string best;
  size_t best_distance = ~size_t{0};
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(start, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string Near(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view start = CutTo(word, kLongestWord);
  std::string nearest = Nearest(word, known);
  const bool near = EditDistance(start, nearest) <= std::max<size_t>(2, start.size() / 2);
  return near ? nearest : std::string();
}

std::string NearestHint(std::string_view word, const std::vector<std::string>& known,
                        std::string_view what) {
  const std::string near = Near(word, known);
  if (near.empty())
    return "give " + std::string(known.size() > 1 ? "one of " : "") + QuotedList(known);
  return std::string(what) + " is " + Quoted(near);
}

std::string NearestOf(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = Near(word, known);
  return near.empty() ? "give one of " + QuotedList(known)
                      : "the nearest is " + Quoted(near) + " of " + QuotedList(known);
}

std::string Quoted(std::string_view word) {
  const std::string_view start = CutTo(word, kLongestWord);
  return "'" + std::string(start) + (start.size() < word.size() ? "...'" : "'");
}

std::string QuotedList(const std::vector<std::string>& words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) list += i + 1 == words.size() ? " or " : ", ";
    list += Quoted(words[i]);
  }
  return list;
}

}  // namespace stallscope
