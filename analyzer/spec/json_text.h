// JSON text, strictly: no duplicate keys, no comments, nothing behind the end, bounded in size and
// depth. Also for other rooms that read JSON of their own (a budget), which then fail the same way.
#pragma once

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "analyzer/base/result.h"
#include "analyzer/spec/fault.h"
#include "analyzer/spec/spec_json.h"

namespace stallscope {

// `kind` is what the text should be, for errors: "spec".
Result<nlohmann::json> ParseJson(std::string_view text, const std::string& name,
                                 const std::string& kind);

// Reads a file of at most kMaxSpecBytes.
Result<std::string> ReadJsonFile(const std::string& path, const std::string& kind);

// Where the value of `path` starts, or its key; where the path ends in the text, as much of it as
// there is. The library's parser keeps no positions, and a second look at a text that holds an
// error costs nothing that anybody waits for.
size_t Locate(std::string_view text, const JsonPath& path, bool at_key, bool second);

// "3:14", counted from 1, columns in bytes.
std::string LineAndColumn(std::string_view text, size_t offset);

// "a number", "a list", ... for errors.
std::string TypeInWords(const nlohmann::json& value);

// What is unknown, as JSON has it: null. It has no infinities either.
template <class Value>
nlohmann::ordered_json OrNull(const std::optional<Value>& value) {
  if (!value.has_value()) return nullptr;
  if constexpr (std::is_floating_point_v<Value>) {
    if (!std::isfinite(*value)) return nullptr;
  }
  return *value;
}
inline nlohmann::ordered_json TextOrNull(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

std::string WriteJson(const nlohmann::ordered_json& tree, JsonLayout layout);

bool IsUtf8(const std::string& text);

}  // namespace stallscope
