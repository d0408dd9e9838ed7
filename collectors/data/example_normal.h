// Inside this room: an Example in the one shape that ExampleView reads by itself.
#ifndef STALLSCOPE_COLLECTORS_DATA_EXAMPLE_NORMAL_H_
#define STALLSCOPE_COLLECTORS_DATA_EXAMPLE_NORMAL_H_

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"

namespace stallscope::data {

// Parses by protobuf and writes again: each feature once, of one kind, in one list. An error where
// protobuf rejects the record.
Status NormalizeExample(ByteView record, Buffer& into);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_EXAMPLE_NORMAL_H_
