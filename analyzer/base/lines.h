// The lines of a text. Any thread.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace stallscope {

// Without their line feeds, as parts of `text`. A feed at its end begins no other line.
inline std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace stallscope
