// For any bytes, the zero-copy view agrees with protobuf wherever protobuf accepts the record; and
// what protobuf parsed is written and parsed again unchanged.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "collectors/data/example.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace stallscope;

// NaN is not equal to itself, but its bytes are.
bool SameFloats(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

bool Same(const data::FeatureView& view, const data::Feature& parsed) {
  if (const auto* bytes = std::get_if<data::BytesList>(&parsed)) {
    std::vector<data::ByteView> values;
    if (!ReadBytes(view, values).ok() || values.size() != bytes->size()) return false;
    for (size_t i = 0; i < values.size(); ++i) {
      if (data::AsText(values[i]) != (*bytes)[i]) return false;
    }
    return (values.size() == 1) == OneBytes(view).ok();
  }
  if (const auto* floats = std::get_if<data::FloatList>(&parsed)) {
    std::vector<float> values;
    return ReadFloats(view, values).ok() && SameFloats(values, *floats);
  }
  if (const auto* int64s = std::get_if<data::Int64List>(&parsed)) {
    std::vector<int64_t> values;
    return ReadInt64s(view, values).ok() && values == *int64s;
  }
  return view.kind == data::FeatureKind::kNone;
}

// For a record that protobuf refuses, any answer will do, but no crash.
void ReadAnything(const data::ExampleView& view) {
  std::vector<data::ByteView> bytes;
  std::vector<float> floats;
  std::vector<int64_t> int64s;
  for (const data::FeatureView& feature : view.features()) {
    static_cast<void>(ReadBytes(feature, bytes).ok());
    static_cast<void>(ReadFloats(feature, floats).ok());
    static_cast<void>(ReadInt64s(feature, int64s).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const data::ByteView record(data, size);
  static data::ExampleView view;
  const Status seen = view.Reset(record);
  const auto parsed = data::ParseExample(record);
  if (!parsed.ok()) {
    if (seen.ok()) ReadAnything(view);
    return 0;
  }
  STALLSCOPE_EXPECT(seen.ok());
  STALLSCOPE_EXPECT(view.features().size() == parsed.value().size());
  for (const auto& [name, feature] : parsed.value()) {
    const data::FeatureView* found = view.Find(name);
    STALLSCOPE_EXPECT(found != nullptr);
    STALLSCOPE_EXPECT(Same(*found, feature));
  }
  data::Buffer once;
  data::Buffer twice;
  STALLSCOPE_EXPECT(SerializeExample(parsed.value(), once).ok());
  STALLSCOPE_EXPECT(SerializeExample(data::ParseExample(once).value(), twice).ok());
  STALLSCOPE_EXPECT(data::AsText(once) == data::AsText(twice));
  return 0;
}
