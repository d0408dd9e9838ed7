// Messages of spec.proto from JSON and to JSON, by reflection alone. Private to the room.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>

#include "analyzer/spec/fault.h"

namespace stallscope {

// Adds to `into` what the object says; names, types, ranges, words and required fields are checked.
MaybeFault ReadMessage(const nlohmann::json& value, const JsonPath& at,
                       google::protobuf::Message& into);

// Replaces one field.
MaybeFault ReadField(const nlohmann::json& value, const JsonPath& at,
                     const google::protobuf::FieldDescriptor& field,
                     google::protobuf::Message& into);

// What differs from the defaults, in the order of the proto. Required fields always.
nlohmann::ordered_json WriteMessage(const google::protobuf::Message& message);

// One field, also at its default. Not for a message other than a map.
nlohmann::ordered_json WriteField(const google::protobuf::Message& message,
                                  const google::protobuf::FieldDescriptor& field);

}  // namespace stallscope
