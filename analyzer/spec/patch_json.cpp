#include <algorithm>
#include <map>

#include "analyzer/base/escape.h"
#include "analyzer/spec/convert.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/message_json.h"
#include "analyzer/spec/nearest.h"
#include "analyzer/spec/patch.h"

namespace stallscope {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Change = decltype(Patch::changes)::value_type;

// What an op may say. All but the place must be there. Not derived from a proto: "stage" is an
// object for one op and a name for the others.
const std::map<std::string, std::vector<std::string>>& KeysOfOps() {
  static const std::map<std::string, std::vector<std::string>> keys = {
      {"set", {"op", "path", "value"}},
      {"insert", {"op", "stage", "after", "before"}},
      {"remove", {"op", "stage"}},
      {"move", {"op", "stage", "after", "before"}}};
  return keys;
}

bool IsPlaceKey(const std::string& key) { return key == "after" || key == "before"; }

MaybeFault ReadName(const json& object, const JsonPath& at, const char* key, std::string& into) {
  const json& value = object.at(key);
  if (!value.is_string()) {
    return Fault{at / key, std::string(key) + " is " + TypeInWords(value), "give a name in quotes"};
  }
  into = value.get<std::string>();
  return std::nullopt;
}

MaybeFault ReadPlace(const json& object, const JsonPath& at, Place& into) {
  const char* hint = R"(give "after": "STAGE", "before": "STAGE", or "after": null for the start)";
  const bool after = object.contains("after");
  const bool before = object.contains("before");
  if (!after && !before) return Fault{at, "no place is given", hint};
  if (after && before) return Fault{at / "before", "two places are given", hint, true};
  if (after && object.at("after").is_null()) return std::nullopt;
  into.kind = after ? Place::Kind::kAfter : Place::Kind::kBefore;
  return ReadName(object, at, after ? "after" : "before", into.stage);
}

MaybeFault CheckKeys(const json& object, const JsonPath& at, const std::string& op) {
  const std::vector<std::string>& known = KeysOfOps().at(op);
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return Fault{at / key, "unknown key " + Quoted(key) + " of " + op,
                 "the nearest known key is " + Quoted(Nearest(key, known)), true};
  }
  for (const std::string& key : known) {
    if (IsPlaceKey(key) || object.contains(key)) continue;
    return Fault{at, op + " has no " + Quoted(key), "add it"};
  }
  return std::nullopt;
}

MaybeFault ReadOp(const json& object, const JsonPath& at, std::string& op) {
  if (!object.is_object()) {
    return Fault{at, "a change is " + TypeInWords(object), "give an object with \"op\""};
  }
  std::vector<std::string> known;
  for (const auto& [name, keys] : KeysOfOps()) known.push_back(name);
  if (!object.contains("op")) {
    return Fault{at, "the change has no op", "give one of " + QuotedList(known)};
  }
  MaybeFault fault = ReadName(object, at, "op", op);
  if (fault.has_value() || KeysOfOps().contains(op)) return fault;
  return Fault{at / "op", "unknown op " + Quoted(op),
               "the nearest is " + Quoted(Nearest(op, known)) + " of " + QuotedList(known)};
}

MaybeFault ReadChange(const json& object, const JsonPath& at, Patch& patch) {
  std::string op;
  MaybeFault fault = ReadOp(object, at, op);
  if (!fault.has_value()) fault = CheckKeys(object, at, op);
  if (fault.has_value()) return fault;
  if (op == "set") {
    SetChange change;
    fault = ReadName(object, at, "path", change.path);
    change.value = JsonText(object.at("value"), -1);
    patch.changes.emplace_back(std::move(change));
  } else if (op == "insert") {
    InsertChange change;
    spec_pb::Stage stage;
    fault = ReadMessage(object.at("stage"), at / "stage", stage);
    if (fault.has_value()) return fault;
    change.stage = FromMessage(stage);
    fault = ReadPlace(object, at, change.place);
    patch.changes.emplace_back(std::move(change));
  } else if (op == "remove") {
    RemoveChange change;
    fault = ReadName(object, at, "stage", change.stage);
    patch.changes.emplace_back(std::move(change));
  } else {
    MoveChange change;
    fault = ReadName(object, at, "stage", change.stage);
    if (!fault.has_value()) fault = ReadPlace(object, at, change.place);
    patch.changes.emplace_back(std::move(change));
  }
  return fault;
}

void WritePlace(const Place& place, ordered_json& object) {
  switch (place.kind) {
    case Place::Kind::kStart:
      object["after"] = nullptr;
      break;
    case Place::Kind::kAfter:
      object["after"] = place.stage;
      break;
    case Place::Kind::kBefore:
      object["before"] = place.stage;
      break;
  }
}

ordered_json WriteChange(const SetChange& change) {
  ordered_json value = ordered_json::parse(change.value, nullptr, false);
  if (value.is_discarded()) value = change.value;
  return {{"op", "set"}, {"path", change.path}, {"value", std::move(value)}};
}
ordered_json WriteChange(const InsertChange& change) {
  ordered_json object = {{"op", "insert"}};
  WritePlace(change.place, object);
  object["stage"] = WriteMessage(ToMessage(change.stage));
  return object;
}
ordered_json WriteChange(const RemoveChange& change) {
  return {{"op", "remove"}, {"stage", change.stage}};
}
ordered_json WriteChange(const MoveChange& change) {
  ordered_json object = {{"op", "move"}, {"stage", change.stage}};
  WritePlace(change.place, object);
  return object;
}

std::string AsJson(const ordered_json& value) { return WriteJson(value, JsonLayout::kOneLine); }

}  // namespace

SetChange SetTo(std::string path, int64_t value) { return {std::move(path), AsJson(value)}; }
SetChange SetTo(std::string path, int value) { return {std::move(path), AsJson(value)}; }
SetChange SetTo(std::string path, double value) { return {std::move(path), AsJson(value)}; }
SetChange SetTo(std::string path, bool value) { return {std::move(path), AsJson(value)}; }
SetChange SetTo(std::string path, std::string_view text) {
  return {std::move(path), AsJson(std::string(text))};
}
SetChange SetTo(std::string path, const char* text) {
  return SetTo(std::move(path), std::string_view(text));
}
SetChange SetTo(std::string path, Knob value) {
  if (value.automatic) return SetTo(std::move(path), "auto");
  return SetTo(std::move(path), value.value);
}

Result<Patch> ReadPatch(std::string_view text, const std::string& name) {
  STALLSCOPE_ASSIGN_OR_RETURN(const json tree, ParseJson(text, name, "patch"));
  Patch patch;
  MaybeFault fault;
  if (!tree.is_array()) {
    fault = Fault{{}, "a patch is " + TypeInWords(tree), "give a list of changes"};
  }
  for (size_t i = 0; tree.is_array() && i < tree.size() && !fault.has_value(); ++i) {
    fault = ReadChange(tree[i], JsonPath() / i, patch);
  }
  if (fault.has_value()) return ToError(*fault, name, text);
  return patch;
}

Result<Patch> ReadPatchFile(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string text, ReadJsonFile(path, "patch"));
  return ReadPatch(text, path);
}

std::string WritePatch(const Patch& patch, JsonLayout layout) {
  ordered_json list = ordered_json::array();
  for (const Change& change : patch.changes) {
    list.push_back(std::visit([](const auto& c) { return WriteChange(c); }, change));
  }
  return WriteJson(list, layout);
}

}  // namespace stallscope
