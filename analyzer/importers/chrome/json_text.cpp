#include "analyzer/importers/chrome/json_text.h"

#include <cstdint>
#include <optional>

#include "analyzer/base/utf8.h"

namespace stallscope::importers::chrome {
namespace {

std::optional<uint32_t> Hex4(std::string_view raw, size_t at) {
  if (at + 4 > raw.size()) return std::nullopt;
  uint32_t value = 0;
  for (const char c : raw.substr(at, 4)) {
    value <<= 4;
    if (c >= '0' && c <= '9') {
      value += static_cast<uint32_t>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      value += static_cast<uint32_t>((c | 0x20) - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

// The escape \uXXXX whose digits begin at `at`; leaves `at` behind it, and behind its second half.
bool AppendCode(std::string_view raw, size_t& at, std::string& text) {
  const std::optional<uint32_t> first = Hex4(raw, at);
  if (!first) return false;
  at += 4;
  uint32_t code = *first;
  if (code >= 0xd800 && code < 0xe000) {
    const bool high = code < 0xdc00 && raw.substr(at, 2) == "\\u";
    const std::optional<uint32_t> second = high ? Hex4(raw, at + 2) : std::nullopt;
    if (second && *second >= 0xdc00 && *second < 0xe000) {
      at += 6;
      code = 0x10000 + ((code - 0xd800) << 10) + (*second - 0xdc00);
    } else {
      code = 0xfffd;
    }
  }
  AppendUtf8(code, text);
  return true;
}

}  // namespace

std::string Unescaped(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i++];
      continue;
    }
    const char escaped = raw[i + 1];
    i += 2;
    switch (escaped) {
      case '"':
      case '\\':
      case '/':
        text += escaped;
        break;
      case 'b':
        text += '\b';
        break;
      case 'f':
        text += '\f';
        break;
      case 'n':
        text += '\n';
        break;
      case 'r':
        text += '\r';
        break;
      case 't':
        text += '\t';
        break;
      default:
        if (escaped != 'u' || !AppendCode(raw, i, text)) {
          text += '\\';
          text += escaped;
        }
    }
  }
  return text;
}

}  // namespace stallscope::importers::chrome
