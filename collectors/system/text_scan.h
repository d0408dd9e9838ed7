// Takes the kernel's text files apart: words, numbers, lines.
//
// Nothing is believed that is not whole: a number counts only where white space follows it, and a
// line only where its end is there, so that a text that was cut off never gives a smaller number.
// Pure functions on views; nothing here allocates. Any thread.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_TEXT_SCAN_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_TEXT_SCAN_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace stallscope::system {

// Each takes its find off the front of `text`, or returns nothing and leaves `text` as it was.
std::optional<std::string_view> TakeLine(std::string_view& text);  // without its line feed
std::optional<std::string_view> TakeWord(std::string_view& text);  // up to the next white space
// A decimal number, not negative, that fits, and that white space or the end of `text` follows: the
// end counts here because lines are handed over without theirs.
std::optional<uint64_t> TakeNumber(std::string_view& text);

// The number behind `key` at the start of a line: "key 12", "key: 12 kB".
std::optional<uint64_t> FindNumber(std::string_view text, std::string_view key);

// The number that is all that the text says ("4096\n"); nothing for "max".
std::optional<uint64_t> OnlyNumber(std::string_view text);

// How many numbers a list such as "0-3,8,10-11" names, and whether it names one. Nothing where the
// list is damaged.
std::optional<uint64_t> ListSize(std::string_view list);
bool ListHolds(std::string_view list, uint64_t number);

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_TEXT_SCAN_H_
