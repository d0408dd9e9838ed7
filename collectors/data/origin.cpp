#include "collectors/data/origin.h"

#include <fmt/format.h>

#include <utility>

namespace stallscope::data {

std::string Describe(const Origin& origin) {
  return fmt::format("{}, offset {}, record {}", origin.file, origin.offset, origin.record);
}

Error Locate(Error error, const Origin& origin) {
  std::string where = Describe(origin);
  if (!error.where.empty()) where += ", " + error.where;
  error.where = std::move(where);
  return error;
}

Error AsRunError(Error error) {
  error.kind = ErrorKind::kRun;
  return error;
}

}  // namespace stallscope::data
