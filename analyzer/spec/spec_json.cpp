#include "analyzer/spec/spec_json.h"

#include "analyzer/spec/convert.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/message_json.h"
#include "analyzer/spec/rules.h"

namespace stallscope {

namespace {

Result<Spec> Read(std::string_view text, const std::string& name, bool job) {
  STALLSCOPE_ASSIGN_OR_RETURN(const nlohmann::json tree, ParseJson(text, name, "spec"));
  spec_pb::Spec message;
  MaybeFault fault = ReadMessage(tree, {}, message);
  if (fault.has_value()) return ToError(*fault, name, text);
  Spec spec = FromMessage(message);
  fault = CheckRules(spec);
  if (!fault.has_value() && IsJob(spec) && !job) {
    fault = Fault{JsonPath() / "stages", "these are the settings of a job, which is no pipeline",
                  "run the job itself: stallscope run --set KNOB=VALUE -- COMMAND"};
  }
  if (fault.has_value()) return ToError(*fault, name, text);
  return spec;
}

}  // namespace

Result<Spec> ReadSpec(std::string_view text, const std::string& name) {
  return Read(text, name, /*job=*/false);
}

Result<Spec> ReadAnySpec(std::string_view text, const std::string& name) {
  return Read(text, name, /*job=*/true);
}

Result<Spec> ReadSpecFile(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string text, ReadJsonFile(path, "spec"));
  return ReadSpec(text, path);
}

std::string WriteSpec(const Spec& spec, JsonLayout layout) {
  return WriteJson(WriteMessage(ToMessage(spec)), layout);
}

}  // namespace stallscope
