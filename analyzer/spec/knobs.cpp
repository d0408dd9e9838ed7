#include "analyzer/spec/knobs.h"

#include "analyzer/spec/convert.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/knob_path.h"
#include "analyzer/spec/message_json.h"
#include "analyzer/spec/nearest.h"
#include "analyzer/spec/validate.h"

namespace stallscope {
namespace {

using google::protobuf::FieldDescriptor;
using nlohmann::json;

// What the user typed, as the JSON that a spec would have there. Words need no quotes.
Result<json> TextToJson(std::string_view text, const FieldDescriptor& field,
                        const std::string& where) {
  const KnobType type = TypeOf(field);
  const bool may_be_bare = type == KnobType::kText || type == KnobType::kWord ||
                           (RuleOf(field).tunable() && text == "auto");
  if (may_be_bare && !text.starts_with('"')) {
    std::string bare(text);
    if (IsUtf8(bare)) return json(std::move(bare));
    return Error{ErrorKind::kUsage, "the text is not UTF-8", where, "give UTF-8"};
  }
  Result<json> read = ParseJson(text, where, "value");
  if (read.ok()) return read;
  return Error{ErrorKind::kUsage, field.name() + " is " + Quoted(text), where,
               "give " + Wanted(field)};
}

KnobInfo Describe(const std::string& path, const KnobField& knob) {
  const FieldDescriptor& field = *knob.field;
  const spec_pb::Rule& rule = RuleOf(field);
  KnobInfo info;
  info.path = path;
  info.type = TypeOf(field);
  if (info.type == KnobType::kInteger || info.type == KnobType::kNumber) {
    info.range = KnobRange{rule.min(), rule.max()};
  }
  info.words = WordsOf(field);
  info.tunable = rule.tunable();
  info.required = rule.required();
  info.value = KnobText(WriteField(*knob.message, field));
  const auto* fresh =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(field.containing_type());
  info.default_value = KnobText(WriteField(*fresh, field));
  info.doc = rule.doc();
  return info;
}

}  // namespace

std::vector<KnobInfo> ListKnobs(const Spec& spec) {
  spec_pb::Spec message = ToMessage(spec);
  std::vector<KnobInfo> knobs;
  VisitKnobs(message, [&](const std::string& path, const KnobField& knob) {
    knobs.push_back(Describe(path, knob));
  });
  return knobs;
}

Result<std::string> GetKnob(const Spec& spec, std::string_view path) {
  spec_pb::Spec message = ToMessage(spec);
  STALLSCOPE_ASSIGN_OR_RETURN(const KnobField knob, FindKnob(message, path));
  return KnobText(WriteField(*knob.message, *knob.field));
}

Status SetKnob(Spec& spec, std::string_view path, std::string_view text) {
  spec_pb::Spec message = ToMessage(spec);
  STALLSCOPE_ASSIGN_OR_RETURN(const KnobField knob, FindKnob(message, path));
  const std::string where(path);
  STALLSCOPE_ASSIGN_OR_RETURN(const json value, TextToJson(text, *knob.field, where));
  MaybeFault fault = ReadField(value, {}, *knob.field, *knob.message);
  if (fault.has_value()) return ToError(*fault, where);
  spec = FromMessage(message);
  return {};
}

Result<Spec> ApplySettings(Spec spec, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      return Error{ErrorKind::kUsage, Quoted(setting) + " sets nothing", "",
                   "write PATH=VALUE, such as decode.parallelism=4"};
    }
    const std::string_view whole = setting;
    STALLSCOPE_RETURN_IF_ERROR(SetKnob(spec, whole.substr(0, equals), whole.substr(equals + 1)));
  }
  STALLSCOPE_RETURN_IF_ERROR(Validate(spec, "the spec after --set"));
  return spec;
}

}  // namespace stallscope
