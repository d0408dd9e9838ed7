#include "collectors/data/example.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/common.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>

#include "collectors/data/example.pb.h"

namespace stallscope::data {
namespace {

// Protobuf's wire format, field by field.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;  // of kVarint
  ByteView bytes;       // of the other three
};

class WireWalk {
 public:
  explicit WireWalk(ByteView bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }

  // False if the bytes are damaged or contain a group, which nobody writes anymore.
  bool Next(WireField& field) {
    uint64_t tag;
    if (!Varint(tag) || tag > UINT32_MAX || tag >> 3 == 0) return false;
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    uint64_t length = 0;
    switch (field.type) {
      case WireType::kVarint:
        return Varint(field.varint);
      case WireType::kFixed64:
        length = 8;
        break;
      case WireType::kFixed32:
        length = 4;
        break;
      case WireType::kLength:
        if (!Varint(length)) return false;
        break;
      default:
        return false;
    }
    if (length > rest_.size()) return false;
    field.bytes = rest_.first(static_cast<size_t>(length));
    rest_ = rest_.subspan(static_cast<size_t>(length));
    return true;
  }

  // Ten bytes at most; what exceeds 64 bits is dropped, as in protobuf.
  bool Varint(uint64_t& value) {
    value = 0;
    for (size_t i = 0; i < 10 && i < rest_.size(); ++i) {
      value |= static_cast<uint64_t>(rest_[i] & 0x7f) << (7 * i);
      if (rest_[i] < 0x80) {
        rest_ = rest_.subspan(i + 1);
        return true;
      }
    }
    return false;
  }

 private:
  ByteView rest_;
};

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
  // Protobuf would print to stderr about names that are not UTF-8; the caller gets an error
  // instead.
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
               "check what wrote it, or use the raw format"};
}

constexpr size_t kMaxWalked = 64;

// Whether the list can be walked later. Its values are not checked until they are requested.
bool ListIsWalkable(ByteView list) {
  WireWalk walk(list);
  WireField field;
  while (!walk.done()) {
    if (!walk.Next(field)) return false;
  }
  return true;
}

// One Feature message. False where it is not in the normal shape.
bool ReadFeature(ByteView message, FeatureView& feature) {
  feature.kind = FeatureKind::kNone;
  feature.list = {};
  WireWalk walk(message);
  WireField field;
  while (!walk.done()) {
    if (!walk.Next(field)) return false;
    if (field.number > 3 || field.type != WireType::kLength) continue;
    if (feature.kind != FeatureKind::kNone) return false;  // merged lists, or a change of kind
    feature.kind = static_cast<FeatureKind>(field.number);
    feature.list = field.bytes;
    if (!ListIsWalkable(feature.list)) return false;
  }
  return true;
}

// One entry of the map.
bool ReadEntry(ByteView message, FeatureView& feature) {
  WireWalk walk(message);
  WireField field;
  bool has_name = false;
  bool has_value = false;
  while (!walk.done()) {
    if (!walk.Next(field) || field.type != WireType::kLength) return false;
    bool& seen = field.number == 1 ? has_name : has_value;
    if (field.number > 2 || seen) return false;
    seen = true;
    if (field.number == 1) {
      feature.name = AsText(field.bytes);
    } else if (!ReadFeature(field.bytes, feature)) {
      return false;
    }
  }
  return has_name && has_value;
}

// Names are short and nearly always ASCII; others are left to protobuf, which checks UTF-8.
bool IsAscii(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= 0; });
}

Error Damaged(const FeatureView& feature) {
  return Error{ErrorKind::kRun, "the feature '" + std::string(feature.name) + "' is damaged", "",
               "write the record again"};
}

Status ExpectKind(const FeatureView& feature, FeatureKind kind) {
  static constexpr const char* kNames[] = {"no", "bytes", "float", "int64"};
  if (feature.kind == kind) return {};
  return Error{ErrorKind::kRun,
               "the feature '" + std::string(feature.name) + "' holds " +
                   kNames[static_cast<size_t>(feature.kind)] + " values, not " +
                   kNames[static_cast<size_t>(kind)],
               "", "use another key in the source's features"};
}

// Visits the values of a list, single (`type`) or packed.
template <class Value, class Packed>
Status WalkList(const FeatureView& feature, WireType type, Value on_value, Packed on_packed) {
  WireWalk walk(feature.list);
  WireField field;
  while (!walk.done()) {
    if (!walk.Next(field)) return Damaged(feature);
    if (field.number != 1) continue;
    if (field.type == type) {
      on_value(field);
    } else if (field.type == WireType::kLength && !on_packed(field.bytes)) {
      return Damaged(feature);
    }
  }
  return {};
}

Error NotOne(const FeatureView& feature, size_t count) {
  return Error{ErrorKind::kRun,
               "the feature '" + std::string(feature.name) + "' holds " + std::to_string(count) +
                   " values, not one",
               "", "use another key in the source's features"};
}

// Parses by protobuf and writes again, in the one shape that ExampleView reads by itself: each
// feature once, of one kind, in one list. An error where protobuf rejects the record.
Status NormalizeExample(ByteView record, Buffer& into) {
  proto::Example parsed;
  if (!ParseProto(record, parsed)) return NotAnExample();
  // Unknown fields must not come back in another shape.
  parsed.DiscardUnknownFields();
  if (!Serialize(parsed, into)) return NotAnExample();
  return {};
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

Example ImageExample(ByteView encoded, std::string_view format, int64_t label, int64_t height,
                     int64_t width) {
  return {{"image/encoded", BytesList{std::string(AsText(encoded))}},
          {"image/class/label", Int64List{label}},
          {"image/height", Int64List{height}},
          {"image/width", Int64List{width}},
          {"image/format", BytesList{std::string(format)}}};
}

Example TextExample(std::string text, int64_t label) {
  return {{"text", BytesList{std::move(text)}}, {"label", Int64List{label}}};
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

bool ExampleView::WalkFeatures(ByteView features) {
  WireWalk walk(features);
  WireField field;
  while (!walk.done()) {
    if (!walk.Next(field)) return false;
    if (field.number != 1 || field.type != WireType::kLength) continue;
    FeatureView feature;
    if (!ReadEntry(field.bytes, feature) || !IsAscii(feature.name)) return false;
    // A linear search is free for the few features that records have; a hostile record of a million
    // takes the path that sorts them.
    if (features_.size() == kMaxWalked || Find(feature.name) != nullptr) return false;
    features_.push_back(feature);
  }
  return true;
}

bool ExampleView::Walk(ByteView record) {
  features_.clear();
  WireWalk walk(record);
  WireField field;
  while (!walk.done()) {
    if (!walk.Next(field)) return false;
    if (field.number != 1 || field.type != WireType::kLength) continue;
    if (!WalkFeatures(field.bytes)) return false;
  }
  return true;
}

Status ExampleView::Reset(ByteView record) {
  if (Walk(record)) return {};
  // Unusual or damaged: protobuf decides.
  features_.clear();
  STALLSCOPE_RETURN_IF_ERROR(NormalizeExample(record, normal_));
  WireWalk walk(normal_);
  WireField field;
  while (!walk.done()) {
    if (!walk.Next(field)) return Error{ErrorKind::kRun, "the record cannot be parsed", "", ""};
    WireWalk entries(field.bytes);
    WireField entry;
    while (!entries.done() && entries.Next(entry)) {
      FeatureView feature;
      ReadEntry(entry.bytes, feature);
      features_.push_back(feature);
    }
  }
  return {};
}

const FeatureView* ExampleView::Find(std::string_view name) const {
  for (const FeatureView& feature : features_) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

const FeatureView* ExampleView::FindAny(std::span<const std::string_view> names) const {
  for (const std::string_view name : names) {
    if (const FeatureView* const feature = Find(name); feature != nullptr) return feature;
  }
  return nullptr;
}

Status ReadBytes(const FeatureView& feature, std::vector<ByteView>& into) {
  STALLSCOPE_RETURN_IF_ERROR(ExpectKind(feature, FeatureKind::kBytes));
  into.clear();
  return WalkList(
      feature, WireType::kLength, [&](const WireField& field) { into.push_back(field.bytes); },
      [](ByteView) { return true; });
}

Status ReadFloats(const FeatureView& feature, std::vector<float>& into) {
  STALLSCOPE_RETURN_IF_ERROR(ExpectKind(feature, FeatureKind::kFloat));
  into.clear();
  return WalkList(
      feature, WireType::kFixed32,
      [&](const WireField& field) { into.push_back(ValueAt<float>(field.bytes, 0)); },
      [&](ByteView packed) {
        for (size_t i = 0; i + 4 <= packed.size(); i += 4)
          into.push_back(ValueAt<float>(packed, i));
        return packed.size() % 4 == 0;
      });
}

Status ReadInt64s(const FeatureView& feature, std::vector<int64_t>& into) {
  STALLSCOPE_RETURN_IF_ERROR(ExpectKind(feature, FeatureKind::kInt64));
  into.clear();
  return WalkList(
      feature, WireType::kVarint,
      [&](const WireField& field) { into.push_back(static_cast<int64_t>(field.varint)); },
      [&](ByteView packed) {
        WireWalk values(packed);
        while (!values.done()) {
          uint64_t value;
          if (!values.Varint(value)) return false;
          into.push_back(static_cast<int64_t>(value));
        }
        return true;
      });
}

Result<ByteView> OneBytes(const FeatureView& feature) {
  STALLSCOPE_RETURN_IF_ERROR(ExpectKind(feature, FeatureKind::kBytes));
  ByteView bytes;
  size_t count = 0;
  STALLSCOPE_RETURN_IF_ERROR(WalkList(
      feature, WireType::kLength,
      [&](const WireField& field) {
        bytes = field.bytes;
        ++count;
      },
      [](ByteView) { return true; }));
  if (count != 1) return NotOne(feature, count);
  return bytes;
}

Result<int64_t> OneInt64(const FeatureView& feature) {
  thread_local std::vector<int64_t> values;
  STALLSCOPE_RETURN_IF_ERROR(ReadInt64s(feature, values));
  if (values.size() != 1) return NotOne(feature, values.size());
  return values[0];
}

}  // namespace stallscope::data
