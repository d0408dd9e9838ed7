#include "replay/rerun/data_check.h"

#include <string>

#include "collectors/capture/data_files.h"

namespace stallscope::replay {
namespace {

constexpr const char* kHint =
    "run it where the recorded data lies, or give --emulate to run stages of the recorded cost";

}  // namespace

Status CheckData(const model::Run& run, const Spec& spec) {
  const auto data = capture::FindDataFiles(spec);
  if (!data.ok()) {
    return Error{ErrorKind::kInput, "the run's data is not here: " + data.error().Line(), run.path,
                 kHint};
  }
  const std::string& then = run.info.data_fingerprint;
  const std::string& now = data.value().fingerprint;
  if (then.empty() || then == now) return {};
  return Error{
      ErrorKind::kInput,
      "the data is not the recorded one: its fingerprint is " + now + ", recorded was " + then,
      run.path, kHint};
}

}  // namespace stallscope::replay
