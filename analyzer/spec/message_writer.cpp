#include <map>

#include "analyzer/spec/message_json.h"
#include "analyzer/spec/schema.h"

namespace stallscope {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::ordered_json;

// Keys come from descriptors and maps and are never equal, so the object need not look for them.
void Append(ordered_json& object, const std::string& key, ordered_json value) {
  object.get_ref<ordered_json::object_t&>().emplace_back(key, std::move(value));
}

ordered_json WriteTable(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  std::map<std::string, std::string> sorted;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    const Descriptor& about = *entry.GetDescriptor();
    sorted[entry.GetReflection()->GetString(entry, about.map_key())] =
        entry.GetReflection()->GetString(entry, about.map_value());
  }
  ordered_json table = ordered_json::object();
  for (const auto& [key, value] : sorted) Append(table, key, value);
  return table;
}

bool IsDefault(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return reflection.FieldSize(message, &field) == 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field) == field.default_value_int64();
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(message, &field) == field.default_value_double();
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) == field.default_value_bool();
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.GetEnum(message, &field) == field.default_value_enum();
    default:
      return reflection.GetString(message, &field) == field.default_value_string();
  }
}

ordered_json WriteList(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  ordered_json list = ordered_json::array();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (IsGroup(field)) {
      list.push_back(WriteMessage(reflection.GetRepeatedMessage(message, &field, i)));
    } else {
      list.push_back(reflection.GetRepeatedString(message, &field, i));
    }
  }
  return list;
}

}  // namespace

ordered_json WriteField(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_map()) return WriteTable(message, field);
  if (field.is_repeated()) return WriteList(message, field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t value = reflection.GetInt64(message, &field);
      if (value == kAutomatic && RuleOf(field).tunable()) return "auto";
      return value;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.GetEnum(message, &field)->name();
    default:
      return reflection.GetString(message, &field);
  }
}

ordered_json WriteMessage(const Message& message) {
  const Descriptor& descriptor = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  ordered_json object = ordered_json::object();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (IsGroup(field) && !field.is_repeated()) {
      // What a stage is must be said, however little there is to say about it.
      const bool must = field.containing_oneof() != nullptr;
      if (!reflection.HasField(message, &field)) continue;
      ordered_json group = WriteMessage(reflection.GetMessage(message, &field));
      if (must || !group.empty()) Append(object, field.name(), std::move(group));
    } else if (RuleOf(field).required() || !IsDefault(message, field)) {
      Append(object, field.name(), WriteField(message, field));
    }
  }
  return object;
}

}  // namespace stallscope
