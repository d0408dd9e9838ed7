// One line of a names file (RING.md), or an object in it: its members, each checked. What is
// absent, of another type or out of limits reads as nothing. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/trace/events.h"

namespace stallscope::job {

class NamesLine {
 public:
  using Json = nlohmann::json;
  // `json` must outlive the object.
  explicit NamesLine(const Json& json) : json_(json) {}

  const Json& json() const { return json_; }
  const Json* Member(const char* key) const;
  const Json* List(const char* key) const;
  std::optional<uint64_t> Number(const char* key) const;
  uint32_t Number32(const char* key) const;
  bool Flag(const char* key) const;
  // Cut to the length of a name.
  std::string Text(const char* key) const;
  std::vector<std::string> Texts(const char* key, size_t most = 64) const;

  // "from" and "to"; nothing if they make no sense.
  std::optional<std::pair<int64_t, int64_t>> Window() const;
  // The call that constructs a loader at `line` of its file. Its source is cut where a line may
  // have a secret.
  trace::CallSite Call(uint32_t line) const;
  // The measured lines of a function; nothing if one makes no sense.
  std::optional<trace::CodeLines> Code() const;

 private:
  const Json& json_;
};

}  // namespace stallscope::job
