#include "analyzer/findings/shards.h"

#include <algorithm>
#include <map>
#include <string>

namespace stallscope::findings {

std::optional<size_t> ShardOf(const Case& c, trace::StringId file) {
  std::map<std::string_view, uint64_t> last_record;  // by file, sorted by name
  for (const auto& element : c.run.rows.elements) {
    if (element.file == trace::StringId::None()) continue;
    uint64_t& last = last_record[c.run.Text(element.file)];
    last = std::max(last, element.record);
  }
  const auto at = last_record.find(c.run.Text(file));
  if (at == last_record.end() || at->second == 0) return std::nullopt;
  return static_cast<size_t>(std::distance(last_record.begin(), at));
}

}  // namespace stallscope::findings
