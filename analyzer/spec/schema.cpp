#include "analyzer/spec/schema.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>

#include "analyzer/spec/json_text.h"
#include "analyzer/spec/nearest.h"

namespace stallscope {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

MaybeFault CheckText(const std::string& text, const JsonPath& at) {
  if (IsUtf8(text)) return std::nullopt;
  return Fault{at, "the text is not UTF-8", "JSON can hold nothing else; rename it"};
}

MaybeFault CheckRepeated(const Message& message, const FieldDescriptor& field, const JsonPath& at) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  if (size == 0 && RuleOf(field).required()) {
    return Fault{at, field.name() + " is empty", "give " + Wanted(field)};
  }
  for (int i = 0; i < size; ++i) {
    const JsonPath here = at / static_cast<size_t>(i);
    MaybeFault fault;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      fault = CheckMessage(reflection.GetRepeatedMessage(message, &field, i), here);
    } else {
      fault = CheckText(reflection.GetRepeatedString(message, &field, i), here);
    }
    if (fault.has_value()) return fault;
  }
  return std::nullopt;
}

MaybeFault CheckField(const Message& message, const FieldDescriptor& field, const JsonPath& at) {
  if (field.is_repeated()) return CheckRepeated(message, field, at);
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t value = reflection.GetInt64(message, &field);
      if (value == kAutomatic && RuleOf(field).tunable()) return std::nullopt;
      return CheckRange(field, static_cast<double>(value), at);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return CheckRange(field, reflection.GetDouble(message, &field), at);
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string value = reflection.GetString(message, &field);
      if (value.empty() && RuleOf(field).required()) {
        return Fault{at, field.name() + " is empty", "give " + Wanted(field)};
      }
      return CheckText(value, at);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (!reflection.HasField(message, &field)) return std::nullopt;
      return CheckMessage(reflection.GetMessage(message, &field), at);
    default:
      return std::nullopt;
  }
}

}  // namespace

const spec_pb::Rule& RuleOf(const FieldDescriptor& field) {
  return field.options().GetExtension(spec_pb::rule);
}

KnobType TypeOf(const FieldDescriptor& field) {
  if (field.is_map()) return KnobType::kTable;
  if (field.is_repeated()) return KnobType::kList;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return KnobType::kInteger;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return KnobType::kNumber;
    case FieldDescriptor::CPPTYPE_BOOL:
      return KnobType::kBoolean;
    case FieldDescriptor::CPPTYPE_ENUM:
      return KnobType::kWord;
    default:
      assert(field.cpp_type() == FieldDescriptor::CPPTYPE_STRING);
      return KnobType::kText;
  }
}

bool IsGroup(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map();
}

std::vector<std::string> WordsOf(const FieldDescriptor& field) {
  std::vector<std::string> words;
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return words;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    words.push_back(field.enum_type()->value(i)->name());
  }
  return words;
}

std::vector<std::string> FieldNames(const Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  return names;
}

std::string NumberText(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e16) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

std::string Wanted(const FieldDescriptor& field) {
  if (IsGroup(field)) return field.is_repeated() ? "a list of objects" : "an object";
  const spec_pb::Rule& rule = RuleOf(field);
  const std::string span = NumberText(rule.min()) + " to " + NumberText(rule.max());
  switch (TypeOf(field)) {
    case KnobType::kInteger:
      return "an integer from " + span + (rule.tunable() ? " or \"auto\"" : "");
    case KnobType::kNumber:
      return "a number from " + span;
    case KnobType::kBoolean:
      return "true or false";
    case KnobType::kWord:
      return QuotedList(WordsOf(field));
    case KnobType::kText:
      return "a string";
    case KnobType::kList:
      return "a list of strings";
    case KnobType::kTable:
      return "an object of strings";
  }
  return "";
}

MaybeFault CheckRange(const FieldDescriptor& field, double value, const JsonPath& at) {
  const spec_pb::Rule& rule = RuleOf(field);
  // Written so that a NaN fails.
  if (value >= rule.min() && value <= rule.max()) return std::nullopt;
  return Fault{at, field.name() + " is " + NumberText(value) + ", which is out of range",
               "give " + Wanted(field)};
}

MaybeFault CheckMessage(const Message& message, const JsonPath& at) {
  const Descriptor& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    // A map's entries are messages of texts and are checked as such, without a place of their own.
    MaybeFault fault = CheckField(message, field, at / field.name());
    if (fault.has_value()) return fault;
  }
  return std::nullopt;
}

}  // namespace stallscope
