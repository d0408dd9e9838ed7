// Between the plain structs and the messages. Private to the room.
#pragma once

#include "analyzer/spec/spec.h"
#include "analyzer/spec/spec.pb.h"

namespace stallscope {

// The messages have every field set, so that reflection sees all groups.
spec_pb::Spec ToMessage(const Spec& spec);
spec_pb::Stage ToMessage(const StageSpec& stage);

// Each stage must have its kind.
Spec FromMessage(const spec_pb::Spec& message);
StageSpec FromMessage(const spec_pb::Stage& message);

}  // namespace stallscope
