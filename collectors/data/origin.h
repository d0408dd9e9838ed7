// Where an element came from, so that every error about it says so.
#ifndef STALLSCOPE_COLLECTORS_DATA_ORIGIN_H_
#define STALLSCOPE_COLLECTORS_DATA_ORIGIN_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"

namespace stallscope::data {

struct Origin {
  std::string_view file;
  uint64_t offset = 0;  // in the file; of a compressed one in what it unpacks to
  uint64_t record = 0;  // counted from 0
};

// "train.tfrecord, offset 1024, record 7"
std::string Describe(const Origin& origin);

// The same error, with the origin before what `where` already says (a place inside the element).
Error Locate(Error error, const Origin& origin);

// An error of a library of files, as the run that needed the file sees it: data that cannot be
// read ends a run.
Error AsRunError(Error error);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_ORIGIN_H_
