// tf.train.Example as plain data: what the writers fill and what tests compare.
//
// This is the slow and complete way, by protobuf. A pipeline that wants two features of each record
// takes example_view.h. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DATA_EXAMPLE_H_
#define STALLSCOPE_COLLECTORS_DATA_EXAMPLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"

namespace stallscope::data {

using BytesList = std::vector<std::string>;
using FloatList = std::vector<float>;
using Int64List = std::vector<int64_t>;
// A feature of no kind is possible on the wire, and means that there is nothing.
using Feature = std::variant<std::monostate, BytesList, FloatList, Int64List>;
using Example = std::map<std::string, Feature>;

Result<Example> ParseExample(ByteView record);

// Replaces what `into` holds. Features stand in the order of their names, so that equal examples
// have equal bytes. Names must be UTF-8: another is an error.
Status SerializeExample(const Example& example, Buffer& into);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_EXAMPLE_H_
