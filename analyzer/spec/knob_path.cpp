#include "analyzer/spec/knob_path.h"

#include "analyzer/spec/json_text.h"
#include "analyzer/spec/nearest.h"

namespace stallscope {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Visit = std::function<void(const std::string&, KnobField)>;

void VisitGroup(Message& message, const std::string& prefix, const Visit& visit);

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
    if (!IsGroup(field)) {
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
  const std::string near = Near(path, known);
  const std::string nearest = near.empty() ? "give STAGE.FIELD, transfer.FIELD or trainer.FIELD"
                                           : "the nearest path is " + Quoted(near);
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
