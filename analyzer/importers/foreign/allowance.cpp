#include "analyzer/importers/foreign/allowance.h"

namespace stallscope::importers {

Status Allowance::Check(const std::string& path, bool packed) const {
  if (!Spent()) return {};
  return Error{ErrorKind::kInput,
               "this file of " + std::to_string(file_bytes_) + " bytes would take more than " +
                   std::to_string(limit_ >> 20) + " MiB of memory, which no trace of its size does",
               path,
               packed ? "unpack it with gunzip if you trust it, or record fewer steps"
                      : "record fewer steps, or export it again"};
}

}  // namespace stallscope::importers
