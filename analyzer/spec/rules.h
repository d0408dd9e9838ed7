// What a spec must hold beyond the ranges of its fields. Private to the room.
#pragma once

#include "analyzer/spec/fault.h"
#include "analyzer/spec/spec.h"

namespace stallscope {

constexpr size_t kMaxStages = 256;

MaybeFault CheckRules(const Spec& spec);

}  // namespace stallscope
