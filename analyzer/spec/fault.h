// What is wrong at one place of a spec or patch, before it is known which file that came from.
//
// Checks on descriptors and on structs both speak of places as JsonPath; only
// whoever has the text can turn one into a line and a column.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope {

// stages[2].map.ops[0]
struct JsonPath {
  std::vector<std::variant<std::string, size_t>> steps;

  JsonPath operator/(std::string_view key) const;
  JsonPath operator/(size_t index) const;
  JsonPath Parent() const;
  std::string Text() const;
};

struct Fault {
  JsonPath path;
  std::string what;
  std::string hint;
  // The key that the path ends with is wrong in itself: unknown, or there for the second time.
  bool at_key = false;
  bool second = false;
};

// Nothing where all is well.
using MaybeFault = std::optional<Fault>;

// `text` is where the path is looked up for line and column; empty where there is none.
Error ToError(const Fault& fault, const std::string& name, std::string_view text = {});

}  // namespace stallscope
