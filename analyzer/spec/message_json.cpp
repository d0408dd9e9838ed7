#include "analyzer/spec/message_json.h"

#include <cmath>
#include <map>

#include "analyzer/spec/json_text.h"
#include "analyzer/spec/nearest.h"
#include "analyzer/spec/schema.h"

namespace stallscope {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using nlohmann::json;

Fault WrongType(const FieldDescriptor& field, const json& value, const JsonPath& at) {
  return Fault{at, field.name() + " is " + TypeInWords(value), "give " + Wanted(field)};
}

MaybeFault ReadInteger(const json& value, const JsonPath& at, const FieldDescriptor& field,
                       Message& into) {
  int64_t number = 0;
  if (value.is_string() && RuleOf(field).tunable()) {
    if (value != "auto") {
      return Fault{at, field.name() + " is " + Quoted(value.get_ref<const std::string&>()),
                   "give " + Wanted(field)};
    }
    number = kAutomatic;
  } else if (!value.is_number()) {
    return WrongType(field, value, at);
  } else {
    // 1e9 is a whole number too. Ranges end below 2^53, so nothing is lost in a double.
    const double real = value.get<double>();
    if (real != std::floor(real)) {
      return Fault{at, field.name() + " is " + NumberText(real), "give " + Wanted(field)};
    }
    MaybeFault fault = CheckRange(field, real, at);
    if (fault.has_value()) return fault;
    number = static_cast<int64_t>(real);
  }
  into.GetReflection()->SetInt64(&into, &field, number);
  return std::nullopt;
}

MaybeFault ReadNumber(const json& value, const JsonPath& at, const FieldDescriptor& field,
                      Message& into) {
  if (!value.is_number()) return WrongType(field, value, at);
  const double number = value.get<double>();
  MaybeFault fault = CheckRange(field, number, at);
  if (fault.has_value()) return fault;
  into.GetReflection()->SetDouble(&into, &field, number);
  return std::nullopt;
}

MaybeFault ReadWord(const json& value, const JsonPath& at, const FieldDescriptor& field,
                    Message& into) {
  if (!value.is_string()) return WrongType(field, value, at);
  const auto& word = value.get_ref<const std::string&>();
  const auto* found = field.enum_type()->FindValueByName(word);
  if (found == nullptr) {
    return Fault{at, "unknown " + field.name() + ' ' + Quoted(word),
                 NearestOf(word, WordsOf(field))};
  }
  into.GetReflection()->SetEnum(&into, &field, found);
  return std::nullopt;
}

MaybeFault ReadText(const json& value, const JsonPath& at, const FieldDescriptor& field,
                    Message& into) {
  if (!value.is_string()) return WrongType(field, value, at);
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() && RuleOf(field).required()) {
    return Fault{at, field.name() + " is empty", "give " + Wanted(field)};
  }
  into.GetReflection()->SetString(&into, &field, text);
  return std::nullopt;
}

MaybeFault ReadList(const json& value, const JsonPath& at, const FieldDescriptor& field,
                    Message& into) {
  if (!value.is_array()) return WrongType(field, value, at);
  if (value.empty() && RuleOf(field).required()) {
    return Fault{at, field.name() + " is empty", "give " + Wanted(field)};
  }
  for (size_t i = 0; i < value.size(); ++i) {
    const JsonPath here = at / i;
    if (IsGroup(field)) {
      MaybeFault fault =
          ReadMessage(value[i], here, *into.GetReflection()->AddMessage(&into, &field));
      if (fault.has_value()) return fault;
    } else {
      if (!value[i].is_string()) {
        return Fault{here, field.name() + " holds " + TypeInWords(value[i]),
                     "give " + Wanted(field)};
      }
      into.GetReflection()->AddString(&into, &field, value[i].get<std::string>());
    }
  }
  return std::nullopt;
}

MaybeFault ReadTable(const json& value, const JsonPath& at, const FieldDescriptor& field,
                     Message& into) {
  if (!value.is_object()) return WrongType(field, value, at);
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return WrongType(field, text, at / key);
    Message& entry = *into.GetReflection()->AddMessage(&into, &field);
    entry.GetReflection()->SetString(&entry, entry.GetDescriptor()->map_key(), key);
    entry.GetReflection()->SetString(&entry, entry.GetDescriptor()->map_value(),
                                     text.get<std::string>());
  }
  return std::nullopt;
}

// Of a group of which there must be exactly one: what a stage is.
MaybeFault CheckOneof(const json& value, const JsonPath& at, const OneofDescriptor& oneof) {
  std::vector<std::string> known, found;
  for (int i = 0; i < oneof.field_count(); ++i) {
    known.push_back(oneof.field(i)->name());
    if (value.contains(known.back())) found.push_back(known.back());
  }
  if (found.size() == 1) return std::nullopt;
  if (found.empty()) {
    return Fault{at, "no " + oneof.name() + " is given", "give one of " + QuotedList(known)};
  }
  return Fault{at / found[1], Quoted(found[0]) + " and " + Quoted(found[1]) + " are both given",
               "split it into two, each with its own name", true};
}

MaybeFault CheckKeys(const json& value, const JsonPath& at, const Descriptor& descriptor) {
  for (const auto& [key, member] : value.items()) {
    if (descriptor.FindFieldByName(key) != nullptr) continue;
    const std::vector<std::string> known = FieldNames(descriptor);
    return Fault{at / key, "unknown key " + Quoted(key),
                 at.steps.empty() ? "the top level has " + QuotedList(known)
                                  : NearestHint(key, known, "the nearest known key"),
                 true};
  }
  for (int i = 0; i < descriptor.oneof_decl_count(); ++i) {
    MaybeFault fault = CheckOneof(value, at, *descriptor.oneof_decl(i));
    if (fault.has_value()) return fault;
  }
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (!RuleOf(field).required() || value.contains(field.name())) continue;
    return Fault{at, field.name() + " is missing", "give " + Wanted(field)};
  }
  return std::nullopt;
}

}  // namespace

MaybeFault ReadField(const json& value, const JsonPath& at, const FieldDescriptor& field,
                     Message& into) {
  into.GetReflection()->ClearField(&into, &field);
  if (IsGroup(field)) {
    if (field.is_repeated()) return ReadList(value, at, field, into);
    return ReadMessage(value, at, *into.GetReflection()->MutableMessage(&into, &field));
  }
  switch (TypeOf(field)) {
    case KnobType::kInteger:
      return ReadInteger(value, at, field, into);
    case KnobType::kNumber:
      return ReadNumber(value, at, field, into);
    case KnobType::kBoolean:
      if (!value.is_boolean()) return WrongType(field, value, at);
      into.GetReflection()->SetBool(&into, &field, value.get<bool>());
      return std::nullopt;
    case KnobType::kWord:
      return ReadWord(value, at, field, into);
    case KnobType::kText:
      return ReadText(value, at, field, into);
    case KnobType::kList:
      return ReadList(value, at, field, into);
    case KnobType::kTable:
      return ReadTable(value, at, field, into);
  }
  return std::nullopt;
}

MaybeFault ReadMessage(const json& value, const JsonPath& at, Message& into) {
  const Descriptor& descriptor = *into.GetDescriptor();
  if (!value.is_object()) {
    return Fault{at, "not an object but " + TypeInWords(value),
                 "give an object with keys such as " + Quoted(descriptor.field(0)->name())};
  }
  MaybeFault fault = CheckKeys(value, at, descriptor);
  // In the order of the proto: what is wrong with an earlier stage is said first.
  for (int i = 0; i < descriptor.field_count() && !fault.has_value(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const auto member = value.find(field.name());
    if (member != value.end()) fault = ReadField(*member, at / field.name(), field, into);
  }
  return fault;
}

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
