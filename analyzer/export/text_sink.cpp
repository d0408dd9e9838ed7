#include "analyzer/export/text_sink.h"

#include <fmt/format.h>

#include <cmath>

namespace stallscope::exporting {
namespace {

// The length of the UTF-8 character that `text` begins with; 0 where it begins with none (a stray
// or missing continuation byte, an overlong form, a surrogate, past U+10FFFF).
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

}  // namespace

void AppendJsonEscaped(std::string_view text, std::string& to) {
  while (!text.empty()) {
    const char c = text.front();
    const size_t length = Utf8Length(text);
    if (length == 0) {
      to += "\\ufffd";
      text.remove_prefix(1);
      continue;
    }
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) {
      to += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      to += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
}

void TextSink::AddInt(int64_t value) {
  const fmt::format_int digits(value);
  text_.append(digits.data(), digits.size());
}

void TextSink::AddUint(uint64_t value) {
  const fmt::format_int digits(value);
  text_.append(digits.data(), digits.size());
}

void TextSink::AddMicros(int64_t ns) {
  // Never through a double: that changes the last digit of nearly all times of a long uptime.
  uint64_t size = static_cast<uint64_t>(ns);
  if (ns < 0) {
    text_ += '-';
    size = 0 - size;
  }
  AddUint(size / 1000);
  const uint64_t rest = size % 1000;
  const char digits[4] = {'.', static_cast<char>('0' + rest / 100),
                          static_cast<char>('0' + rest / 10 % 10),
                          static_cast<char>('0' + rest % 10)};
  text_.append(digits, sizeof digits);
}

bool TextSink::AddDouble(double value) {
  if (!std::isfinite(value)) return false;
  fmt::format_to(std::back_inserter(text_), "{}", value);
  return true;
}

void TextSink::AddJsonString(std::string_view text) {
  text_ += '"';
  AppendJsonEscaped(text, text_);
  text_ += '"';
}

Status TextSink::Flush() {
  if (text_.empty()) return {};
  STALLSCOPE_RETURN_IF_ERROR(sink_(text_));
  text_.clear();
  return {};
}

}  // namespace stallscope::exporting
