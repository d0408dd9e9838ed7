#include "analyzer/spec/validate.h"

#include "analyzer/spec/convert.h"
#include "analyzer/spec/rules.h"
#include "analyzer/spec/schema.h"

namespace stallscope {

Status Validate(const Spec& spec, const std::string& name) {
  MaybeFault fault = CheckMessage(ToMessage(spec), {});
  if (!fault.has_value()) fault = CheckRules(spec);
  if (fault.has_value()) return ToError(*fault, name);
  return {};
}

}  // namespace stallscope
