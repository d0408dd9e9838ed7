#include "collectors/data/example.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/common.h>
#include <google/protobuf/stubs/logging.h>

#include <climits>

#include "collectors/data/example.pb.h"
#include "collectors/data/example_normal.h"

namespace stallscope::data {
namespace {

Feature FromProto(const proto::Feature& from) {
  switch (from.kind_case()) {
    case proto::Feature::kBytesList:
      return BytesList(from.bytes_list().value().begin(), from.bytes_list().value().end());
    case proto::Feature::kFloatList:
      return FloatList(from.float_list().value().begin(), from.float_list().value().end());
    case proto::Feature::kInt64List:
      return Int64List(from.int64_list().value().begin(), from.int64_list().value().end());
    case proto::Feature::KIND_NOT_SET:
      break;
  }
  return {};
}

void ToProto(const Feature& feature, proto::Feature& to) {
  if (const auto* bytes = std::get_if<BytesList>(&feature)) {
    auto* list = to.mutable_bytes_list();
    for (const std::string& value : *bytes) list->add_value(value);
  } else if (const auto* floats = std::get_if<FloatList>(&feature)) {
    to.mutable_float_list()->mutable_value()->Add(floats->begin(), floats->end());
  } else if (const auto* int64s = std::get_if<Int64List>(&feature)) {
    to.mutable_int64_list()->mutable_value()->Add(int64s->begin(), int64s->end());
  }
}

bool ParseProto(ByteView record, proto::Example& into) {
  // Protobuf tells stderr of names that are not UTF-8; the caller gets an error instead.
  const google::protobuf::LogSilencer silencer;
  return record.size() <= INT_MAX &&
         into.ParseFromArray(record.data(), static_cast<int>(record.size()));
}

bool Serialize(const proto::Example& example, Buffer& into) {
  const size_t size = example.ByteSizeLong();
  if (size > INT_MAX || !into.TryResize(size)) return false;
  google::protobuf::io::ArrayOutputStream stream(into.data(), static_cast<int>(size));
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  return example.SerializeToCodedStream(&coded);
}

Error NotAnExample() {
  return Error{ErrorKind::kRun, "the record is not a tf.train.Example", "",
               "check what wrote it, or name the raw format"};
}

}  // namespace

Result<Example> ParseExample(ByteView record) {
  proto::Example parsed;
  if (!ParseProto(record, parsed)) return NotAnExample();
  Example example;
  for (const auto& [name, feature] : parsed.features().feature()) {
    example.emplace(name, FromProto(feature));
  }
  return example;
}

Status SerializeExample(const Example& example, Buffer& into) {
  proto::Example whole;
  auto& features = *whole.mutable_features()->mutable_feature();
  for (const auto& [name, feature] : example) {
    if (!google::protobuf::internal::IsStructurallyValidUTF8(name.data(),
                                                             static_cast<int>(name.size()))) {
      return Error{ErrorKind::kRun, "the name of a feature is not UTF-8", "", ""};
    }
    ToProto(feature, features[name]);
  }
  if (!Serialize(whole, into)) {
    return Error{ErrorKind::kRun, "the example is larger than 2 GiB", "", "write smaller records"};
  }
  return {};
}

Status NormalizeExample(ByteView record, Buffer& into) {
  proto::Example parsed;
  if (!ParseProto(record, parsed)) return NotAnExample();
  // What the reader of the other fields does not know must not come back in another shape.
  parsed.DiscardUnknownFields();
  if (!Serialize(parsed, into)) return NotAnExample();
  return {};
}

}  // namespace stallscope::data
