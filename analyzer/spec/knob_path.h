// From a knob's path to its field. Private to the room.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/spec/schema.h"

namespace stallscope {

struct KnobField {
  google::protobuf::Message* message;  // inside the spec that was asked
  const google::protobuf::FieldDescriptor* field;
};

// Calls `visit` with every knob in the order in which a spec is written. `spec` must come from
// ToMessage.
void VisitKnobs(spec_pb::Spec& spec,
                const std::function<void(const std::string& path, KnobField knob)>& visit);

// An error names the nearest path.
Result<KnobField> FindKnob(spec_pb::Spec& spec, std::string_view path);

// The value as a user types it.
std::string KnobText(const nlohmann::ordered_json& value);

}  // namespace stallscope
