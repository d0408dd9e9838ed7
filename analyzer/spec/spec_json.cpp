#include "analyzer/spec/spec_json.h"

#include "analyzer/spec/convert.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/message_json.h"
#include "analyzer/spec/rules.h"

namespace stallscope {

Result<Spec> ReadSpec(std::string_view text, const std::string& name) {
  STALLSCOPE_ASSIGN_OR_RETURN(const nlohmann::json tree, ParseJson(text, name, "spec"));
  spec_pb::Spec message;
  MaybeFault fault = ReadMessage(tree, {}, message);
  if (fault.has_value()) return ToError(*fault, name, text);
  Spec spec = FromMessage(message);
  fault = CheckRules(spec);
  if (fault.has_value()) return ToError(*fault, name, text);
  return spec;
}

Result<Spec> ReadSpecFile(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string text, ReadJsonFile(path, "spec"));
  return ReadSpec(text, path);
}

std::string WriteSpec(const Spec& spec, JsonLayout layout) {
  return WriteJson(WriteMessage(ToMessage(spec)), layout);
}

}  // namespace stallscope
