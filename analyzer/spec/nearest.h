// The known word that an unknown one was probably meant to be. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope {

// Letters to add, drop, change or swap with their neighbor. Letter case is
// ignored.
size_t EditDistance(std::string_view a, std::string_view b);

// The known word with the smallest distance, the first of equals; empty where none is known. Only
// the first 64 bytes of `word` are looked at.
std::string Nearest(std::string_view word, const std::vector<std::string>& known);

// The nearest known word, unless it has too little in common with `word` to be what was meant:
// empty then.
std::string Near(std::string_view word, const std::vector<std::string>& known);

// The remedy for an unknown word: "the nearest known key is 'parallelism'" where one is near
// (`what` is "the nearest known key"), else all known ones.
std::string NearestHint(std::string_view word, const std::vector<std::string>& known,
                        std::string_view what);

// The same with all known ones in either case: "the nearest is 'set' of 'insert', 'move' or 'set'".
std::string NearestOf(std::string_view word, const std::vector<std::string>& known);

// In quotes, cut to a length that fits a line: 'paralelism'.
std::string Quoted(std::string_view word);

// "'a', 'b' or 'c'"
std::string QuotedList(const std::vector<std::string>& words);

}  // namespace stallscope
