#include "collectors/data/example_view.h"

#include <algorithm>
#include <string>

#include "collectors/data/example_normal.h"
#include "collectors/data/wire.h"

namespace stallscope::data {
namespace {

constexpr size_t kMaxWalked = 64;

// A list can be walked later without a doubt; what its values are is looked at when they are asked
// for.
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
               "", "name another key in the source's features"};
}

// Steps over the values of a list, which may stand alone (`type`) or packed.
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

float FloatAt(ByteView bytes, size_t offset) {
  float value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

bool ExampleView::WalkFeatures(ByteView features) {
  WireWalk walk(features);
  WireField field;
  while (!walk.done()) {
    if (!walk.Next(field)) return false;
    if (field.number != 1 || field.type != WireType::kLength) continue;
    FeatureView feature;
    if (!ReadEntry(field.bytes, feature) || !IsAscii(feature.name)) return false;
    // Looking each name up costs nothing for the few features that records have; a hostile record
    // of a million goes the way that sorts them.
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
  // Out of the ordinary, or damaged: protobuf decides.
  features_.clear();
  STALLSCOPE_RETURN_IF_ERROR(NormalizeExample(record, normal_));
  WireWalk walk(normal_);
  WireField field;
  while (!walk.done()) {
    if (!walk.Next(field)) return Error{ErrorKind::kRun, "the record cannot be walked", "", ""};
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
      [&](const WireField& field) { into.push_back(FloatAt(field.bytes, 0)); },
      [&](ByteView packed) {
        for (size_t i = 0; i + 4 <= packed.size(); i += 4) into.push_back(FloatAt(packed, i));
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

namespace {

Error NotOne(const FeatureView& feature, size_t count) {
  return Error{ErrorKind::kRun,
               "the feature '" + std::string(feature.name) + "' holds " + std::to_string(count) +
                   " values, not one",
               "", "name another key in the source's features"};
}

}  // namespace

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
