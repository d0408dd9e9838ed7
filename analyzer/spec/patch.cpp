#include "analyzer/spec/patch.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/base/escape.h"
#include "analyzer/spec/convert.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/knob_path.h"
#include "analyzer/spec/message_json.h"
#include "analyzer/spec/nearest.h"
#include "analyzer/spec/validate.h"

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
                 NearestHint(key, known, "the nearest known key"), true};
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
  return Fault{at / "op", "unknown op " + Quoted(op), NearestOf(op, known)};
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
  if (tree.is_object()) {
    fault = ReadChange(tree, {}, patch);
  } else if (!tree.is_array()) {
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

namespace {

Error Bad(std::string what, std::string hint) {
  return Error{ErrorKind::kUsage, std::move(what), "", std::move(hint)};
}

// The index of a stage that must be there.
Result<size_t> FindStage(const Spec& spec, const std::string& name) {
  std::vector<std::string> known;
  for (size_t i = 0; i < spec.stages.size(); ++i) {
    if (spec.stages[i].name == name) return i;
    known.push_back(spec.stages[i].name);
  }
  return Bad("no stage is called " + Quoted(name),
             known.empty() ? "the spec has no stages" : NearestHint(name, known, "the nearest"));
}

Status PutAt(Spec& spec, StageSpec stage, const Place& place) {
  size_t index = 0;
  if (place.kind != Place::Kind::kStart) {
    STALLSCOPE_ASSIGN_OR_RETURN(index, FindStage(spec, place.stage));
    if (place.kind == Place::Kind::kAfter) ++index;
  }
  spec.stages.insert(spec.stages.begin() + static_cast<std::ptrdiff_t>(index), std::move(stage));
  return {};
}

StageSpec TakeOut(Spec& spec, size_t index) {
  StageSpec stage = std::move(spec.stages[index]);
  spec.stages.erase(spec.stages.begin() + static_cast<std::ptrdiff_t>(index));
  return stage;
}

Status Make(const SetChange& change, Spec& spec) {
  STALLSCOPE_ASSIGN_OR_RETURN(const nlohmann::json value,
                              ParseJson(change.value, change.path, "value"));
  spec_pb::Spec message = ToMessage(spec);
  STALLSCOPE_ASSIGN_OR_RETURN(const KnobField knob, FindKnob(message, change.path));
  const MaybeFault fault = ReadField(value, {}, *knob.field, *knob.message);
  if (fault.has_value()) return ToError(*fault, change.path);
  spec = FromMessage(message);
  return {};
}

Status Make(const InsertChange& change, Spec& spec) {
  const auto same = [&](const StageSpec& stage) { return stage.name == change.stage.name; };
  if (std::any_of(spec.stages.begin(), spec.stages.end(), same)) {
    return Bad("a stage is already called " + Quoted(change.stage.name),
               "give the new one another name");
  }
  return PutAt(spec, change.stage, change.place);
}

Status Make(const RemoveChange& change, Spec& spec) {
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t index, FindStage(spec, change.stage));
  TakeOut(spec, index);
  return {};
}

Status Make(const MoveChange& change, Spec& spec) {
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t index, FindStage(spec, change.stage));
  if (change.place.kind != Place::Kind::kStart && change.place.stage == change.stage) {
    return Bad(Quoted(change.stage) + " cannot be placed next to itself", "name another stage");
  }
  StageSpec stage = TakeOut(spec, index);
  return PutAt(spec, std::move(stage), change.place);
}

std::string Describe(const SetChange& change) { return "set " + change.path; }
std::string Describe(const InsertChange& change) { return "insert " + change.stage.name; }
std::string Describe(const RemoveChange& change) { return "remove " + change.stage; }
std::string Describe(const MoveChange& change) { return "move " + change.stage; }

}  // namespace

Result<Spec> Apply(Spec spec, const Patch& patch) {
  const bool job = IsJob(spec);
  for (size_t i = 0; i < patch.changes.size(); ++i) {
    const Status made =
        std::visit([&](const auto& change) { return Make(change, spec); }, patch.changes[i]);
    if (made.ok()) continue;
    Error error = made.error();
    const std::string which =
        std::visit([](const auto& change) { return Describe(change); }, patch.changes[i]);
    error.where = "patch[" + std::to_string(i) + "], " + which;
    return error;
  }
  STALLSCOPE_RETURN_IF_ERROR(Validate(spec, "the patched spec"));
  if (job != IsJob(spec)) return Bad("a job cannot become a pipeline, nor a pipeline a job", "");
  return spec;
}

namespace {

// Name and kind: what makes two stages the same one with other settings.
using Identity = std::pair<std::string, size_t>;

Identity IdentityOf(const StageSpec& stage) { return {stage.name, stage.kind.index()}; }

// Of positions that are all different, the members of one longest ascending sequence: the stages
// that can stay where they are. Quadratic; a spec has few stages.
std::set<size_t> LongestAscending(const std::vector<size_t>& positions) {
  constexpr size_t kNone = ~size_t{0};
  std::vector<size_t> length(positions.size(), 1), before(positions.size(), kNone);
  size_t last = kNone;
  for (size_t i = 0; i < positions.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (positions[j] < positions[i] && length[j] + 1 > length[i]) {
        length[i] = length[j] + 1;
        before[i] = j;
      }
    }
    if (last == kNone || length[i] > length[last]) last = i;
  }
  std::set<size_t> members;
  for (; last != kNone; last = before[last]) members.insert(positions[last]);
  return members;
}

// Walks `to` from its start and puts each stage that is new or must move behind the one before it.
// Stages that stay are in order among themselves, so at the end every stage is where it belongs.
void DiffStages(const Spec& from, const Spec& to, Patch& patch) {
  std::set<Identity> wanted;
  for (const StageSpec& stage : to.stages) wanted.insert(IdentityOf(stage));
  std::map<Identity, size_t> position;
  for (const StageSpec& stage : from.stages) {
    if (wanted.contains(IdentityOf(stage))) {
      position.emplace(IdentityOf(stage), position.size());
    } else {
      patch.changes.emplace_back(RemoveChange{stage.name});
    }
  }
  std::vector<size_t> order;
  for (const StageSpec& stage : to.stages) {
    const auto found = position.find(IdentityOf(stage));
    if (found != position.end()) order.push_back(found->second);
  }
  const std::set<size_t> staying = LongestAscending(order);
  Place place = Place::Start();
  for (const StageSpec& stage : to.stages) {
    const auto found = position.find(IdentityOf(stage));
    if (found == position.end()) {
      patch.changes.emplace_back(InsertChange{stage, place});
    } else if (!staying.contains(found->second)) {
      patch.changes.emplace_back(MoveChange{stage.name, place});
    }
    place = Place::After(stage.name);
  }
}

std::map<std::string, std::string> KnobValues(const Spec& spec) {
  std::map<std::string, std::string> values;
  spec_pb::Spec message = ToMessage(spec);
  VisitKnobs(message, [&](const std::string& path, const KnobField& knob) {
    values[path] = WriteJson(WriteField(*knob.message, *knob.field), JsonLayout::kOneLine);
  });
  return values;
}

}  // namespace

Patch Diff(const Spec& from, const Spec& to) {
  Patch patch;
  DiffStages(from, to, patch);
  std::set<Identity> kept;
  for (const StageSpec& stage : from.stages) kept.insert(IdentityOf(stage));
  // Stages that were inserted came with their settings.
  std::set<std::string> inserted;
  for (const StageSpec& stage : to.stages) {
    if (!kept.contains(IdentityOf(stage))) inserted.insert(stage.name);
  }
  const std::map<std::string, std::string> before = KnobValues(from);
  spec_pb::Spec message = ToMessage(to);
  // In the order of the spec, as a person would write the changes.
  VisitKnobs(message, [&](const std::string& path, const KnobField& knob) {
    if (inserted.contains(path.substr(0, path.find('.')))) return;
    const std::string value =
        WriteJson(WriteField(*knob.message, *knob.field), JsonLayout::kOneLine);
    const auto old = before.find(path);
    if (old == before.end() || old->second != value) {
      patch.changes.emplace_back(SetChange{path, value});
    }
  });
  return patch;
}

}  // namespace stallscope
