#include <algorithm>
#include <map>
#include <set>

#include "analyzer/spec/convert.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/knob_path.h"
#include "analyzer/spec/message_json.h"
#include "analyzer/spec/patch.h"

namespace stallscope {
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
  // In the order of the spec, as somebody would write the changes down.
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
