#include <algorithm>

#include "analyzer/spec/convert.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/knob_path.h"
#include "analyzer/spec/message_json.h"
#include "analyzer/spec/nearest.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/validate.h"

namespace stallscope {
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
  return Bad(
      "no stage is called " + Quoted(name),
      known.empty() ? "the spec has no stages" : "the nearest is " + Quoted(Nearest(name, known)));
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
    return Bad(Quoted(change.stage) + " cannot stand next to itself", "name another stage");
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
  return spec;
}

}  // namespace stallscope
