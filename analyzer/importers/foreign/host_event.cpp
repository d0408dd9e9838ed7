#include "analyzer/importers/foreign/host_event.h"

#include <algorithm>
#include <charconv>

namespace stallscope::importers {
namespace {

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}
bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// One word: no path, no op with its type, no call with arguments.
bool IsWord(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

}  // namespace

HostRole RoleOfEvent(std::string_view name) {
  // Around every pipeline, and no operator of anybody's.
  if (name == "Iterator::Root") return HostRole::kNone;
  if (StartsWith(name, "Iterator::")) return HostRole::kIterator;
  if (StartsWith(name, "IteratorGetNext") && EndsWith(name, "::DoCompute")) {
    return HostRole::kGetNext;
  }
  if (name == "FunctionRun") return HostRole::kRunGraph;
  if (name == "ExecutorState::Process" || name == "ExecutorDoneCallback") return HostRole::kExecute;
  if (StartsWith(name, "PjitFunction(")) return HostRole::kCall;
  if (EndsWith(name, "Client::Compile") || EndsWith(name, "Client::CompileAndLoad")) {
    return HostRole::kCompile;
  }
  if (EndsWith(name, "Produce") && IsWord(name)) return HostRole::kProduce;
  if (EndsWith(name, "Consume") && IsWord(name)) return HostRole::kConsume;
  return HostRole::kNone;
}

std::string IteratorPath(std::string_view name) {
  std::string path;
  for (size_t i = 0; i < name.size() && name[i] != '#'; ++i) {
    if (name[i] == '[') {
      const size_t close = name.find(']', i);
      if (close == std::string_view::npos) break;
      i = close;
      continue;
    }
    path += name[i];
  }
  return path;
}

std::string IteratorKind(std::string_view path) {
  const size_t colons = path.rfind("::");
  return std::string(colons == std::string_view::npos ? path : path.substr(colons + 2));
}

uint64_t LeadingSize(std::string_view shapes) {
  uint64_t size = 0;
  if (shapes.size() < 2 || shapes[0] != '[') return 0;
  std::from_chars(shapes.data() + 1, shapes.data() + shapes.size(), size);
  return size;
}

}  // namespace stallscope::importers
