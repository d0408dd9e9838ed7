#include "analyzer/export/text_sink.h"

#include <fmt/format.h>

#include <cmath>

#include "analyzer/base/escape.h"

namespace stallscope::exporting {

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

void TextSink::AddCsvField(std::string_view text) { AppendCsvField(text, text_); }

Status TextSink::Flush() {
  if (text_.empty()) return {};
  STALLSCOPE_RETURN_IF_ERROR(sink_(text_));
  text_.clear();
  return {};
}

}  // namespace stallscope::exporting
