// What spec.proto says about a field, in the words of this room. Private to the room: the only
// place besides message_json and convert that looks at descriptors.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <limits>
#include <string>
#include <vector>

#include "analyzer/spec/fault.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec.pb.h"

namespace stallscope {

// How "auto" is stored in a message: no range reaches down there.
constexpr int64_t kAutomatic = std::numeric_limits<int64_t>::min();

const spec_pb::Rule& RuleOf(const google::protobuf::FieldDescriptor& field);

// Not for message fields other than maps.
KnobType TypeOf(const google::protobuf::FieldDescriptor& field);

// True for a message that is not a map's entry: it has fields of its own.
bool IsGroup(const google::protobuf::FieldDescriptor& field);

// The words of an enum field.
std::vector<std::string> WordsOf(const google::protobuf::FieldDescriptor& field);

// The names of a message's fields.
std::vector<std::string> FieldNames(const google::protobuf::Descriptor& message);

// "a number from 1 to 1024 or "auto"": what the field takes.
std::string Wanted(const google::protobuf::FieldDescriptor& field);

// A number as people write it: 1024, 0.001, 1e+12.
std::string NumberText(double value);

MaybeFault CheckRange(const google::protobuf::FieldDescriptor& field, double value,
                      const JsonPath& at);

// Ranges, texts and required fields of a message that code put together.
MaybeFault CheckMessage(const google::protobuf::Message& message, const JsonPath& at);

}  // namespace stallscope
