#include "analyzer/spec/fault.h"

#include "analyzer/spec/json_text.h"
#include "analyzer/spec/nearest.h"

namespace stallscope {

JsonPath JsonPath::operator/(std::string_view key) const {
  JsonPath longer = *this;
  longer.steps.emplace_back(std::string(key));
  return longer;
}

JsonPath JsonPath::operator/(size_t index) const {
  JsonPath longer = *this;
  longer.steps.emplace_back(index);
  return longer;
}

JsonPath JsonPath::Parent() const {
  JsonPath shorter = *this;
  if (!shorter.steps.empty()) shorter.steps.pop_back();
  return shorter;
}

std::string JsonPath::Text() const {
  std::string text;
  for (const auto& step : steps) {
    if (const size_t* index = std::get_if<size_t>(&step)) {
      text += '[' + std::to_string(*index) + ']';
    } else {
      if (!text.empty()) text += '.';
      const std::string quoted = Quoted(*std::get_if<std::string>(&step));
      text += quoted.substr(1, quoted.size() - 2);
    }
  }
  return text;
}

Error ToError(const Fault& fault, const std::string& name, std::string_view text) {
  std::string where = name;
  if (!text.empty()) {
    where += ':' + LineAndColumn(text, Locate(text, fault.path, fault.at_key, fault.second));
  }
  const std::string path = (fault.at_key ? fault.path.Parent() : fault.path).Text();
  if (!path.empty()) where += (where.empty() ? "" : ", ") + path;
  return Error{ErrorKind::kUsage, fault.what, where, fault.hint};
}

}  // namespace stallscope
