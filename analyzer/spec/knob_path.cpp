#include "analyzer/spec/knob_path.h"

#include <algorithm>

#include "analyzer/spec/job_knobs.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/nearest.h"

namespace stallscope {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Visit = std::function<void(const std::string&, KnobField)>;

constexpr std::string_view kEnv = "env.";

void VisitGroup(Message& message, const std::string& prefix, const Visit& visit);

bool IsJob(const spec_pb::Spec& spec) {
  return std::any_of(spec.stages().begin(), spec.stages().end(),
                     [](const spec_pb::Stage& stage) { return stage.has_loader(); });
}

bool HasSetting(const spec_pb::Loader& loader, const std::string& name) {
  if (loader.knobs().empty()) return !IsOtherLoaderKnob(name);
  return std::find(loader.knobs().begin(), loader.knobs().end(), name) != loader.knobs().end();
}

// Whether the field is a setting here: a job has none of a pipeline's, and the other way round.
bool IsSetting(const Message& message, const FieldDescriptor& field) {
  if (RuleOf(field).fixed()) return false;
  if (message.GetDescriptor() == spec_pb::Loader::descriptor()) {
    return HasSetting(static_cast<const spec_pb::Loader&>(message), field.name());
  }
  if (message.GetDescriptor() != spec_pb::Spec::descriptor()) return true;
  const std::string& name = field.name();
  if (name == "name" || name == "stages") return true;
  return (name == "job" || name == "env") == IsJob(static_cast<const spec_pb::Spec&>(message));
}

KnobField EntryOf(Message& entry) { return {&entry, entry.GetDescriptor()->map_value()}; }

void VisitEnv(spec_pb::Spec& spec, const FieldDescriptor& env, const Visit& visit) {
  const Reflection& reflection = *spec.GetReflection();
  for (int i = 0; i < reflection.FieldSize(spec, &env); ++i) {
    Message& entry = *reflection.MutableRepeatedMessage(&spec, &env, i);
    visit(std::string(kEnv) +
              entry.GetReflection()->GetString(entry, entry.GetDescriptor()->map_key()),
          EntryOf(entry));
  }
}

// Any name may be set, whether it is there or not.
KnobField AddVariable(spec_pb::Spec& spec, std::string_view name) {
  const FieldDescriptor* env = spec_pb::Spec::descriptor()->FindFieldByName("env");
  Message& entry = *spec.GetReflection()->AddMessage(&spec, env);
  entry.GetReflection()->SetString(&entry, entry.GetDescriptor()->map_key(), std::string(name));
  return EntryOf(entry);
}

void VisitStages(spec_pb::Spec& spec, const Visit& visit) {
  const auto* kinds = spec_pb::Stage::descriptor()->FindOneofByName("kind");
  for (spec_pb::Stage& stage : *spec.mutable_stages()) {
    const Reflection& reflection = *stage.GetReflection();
    const FieldDescriptor* kind = reflection.GetOneofFieldDescriptor(stage, kinds);
    VisitGroup(*reflection.MutableMessage(&stage, kind), stage.name() + '.', visit);
  }
}

void VisitGroup(Message& message, const std::string& prefix, const Visit& visit) {
  const Descriptor& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (!IsSetting(message, field)) continue;
    if (field.is_map() && message.GetDescriptor() == spec_pb::Spec::descriptor()) {
      VisitEnv(static_cast<spec_pb::Spec&>(message), field, visit);
    } else if (!IsGroup(field)) {
      visit(prefix + field.name(), KnobField{&message, &field});
    } else if (field.is_repeated()) {
      VisitStages(static_cast<spec_pb::Spec&>(message), visit);
    } else {
      Message& group = *message.GetReflection()->MutableMessage(&message, &field);
      VisitGroup(group, prefix + field.name() + '.', visit);
    }
  }
}

}  // namespace

void VisitKnobs(spec_pb::Spec& spec, const Visit& visit) { VisitGroup(spec, "", visit); }

Result<KnobField> FindKnob(spec_pb::Spec& spec, std::string_view path) {
  std::vector<std::string> known;
  KnobField found{nullptr, nullptr};
  bool names_group = false;
  VisitKnobs(spec, [&](const std::string& candidate, KnobField knob) {
    if (candidate == path) found = knob;
    if (candidate.starts_with(std::string(path) + '.')) names_group = true;
    known.push_back(candidate);
  });
  if (found.field != nullptr) return found;
  const bool job = IsJob(spec);
  if (job && path.starts_with(kEnv) && path.size() > kEnv.size()) {
    return AddVariable(spec, path.substr(kEnv.size()));
  }
  std::string near = Near(path, known);
  const auto whole = std::find_if(known.begin(), known.end(), [&](const std::string& candidate) {
    return candidate.ends_with('.' + std::string(path));
  });
  if (near.empty() && whole != known.end()) near = *whole;
  const std::string nearest = !near.empty() ? "the nearest path is " + Quoted(near)
                              : job         ? "give loader.FIELD, job.threads or env.NAME"
                                            : "give STAGE.FIELD, transfer.FIELD or trainer.FIELD";
  if (names_group) {
    return Error{ErrorKind::kUsage, Quoted(path) + " has fields of its own", "", nearest};
  }
  return Error{ErrorKind::kUsage, "no setting has the path " + Quoted(path), "", nearest};
}

std::string KnobText(const nlohmann::ordered_json& value) {
  if (value.is_string()) {
    // A text that itself begins with a quote would be read as JSON.
    const auto& text = value.get_ref<const std::string&>();
    if (!text.starts_with('"')) return text;
  }
  if (value.is_number_float()) return NumberText(value.get<double>());
  return WriteJson(value, JsonLayout::kOneLine);
}

}  // namespace stallscope
