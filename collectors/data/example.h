// tf.train.Example, in two ways.
//
// Example is plain data, parsed and serialized by protobuf: slow and complete, for writers and
// tests. ExampleView finds features in a serialized record without building it, for pipelines.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"

namespace stallscope::data {

// --- Plain data. Any thread ---

using BytesList = std::vector<std::string>;
using FloatList = std::vector<float>;
using Int64List = std::vector<int64_t>;
// A feature without a kind is valid on the wire, and empty.
using Feature = std::variant<std::monostate, BytesList, FloatList, Int64List>;
using Example = std::map<std::string, Feature>;

Result<Example> ParseExample(ByteView record);

// Replaces what `into` holds. Features are in the order of their names, so that equal examples have
// equal bytes. A name that is not UTF-8 is an error.
Status SerializeExample(const Example& example, Buffer& into);

// An encoded image with its class, as the ImageNet recipe writes it; `format` is "JPEG" or "PNG".
Example ImageExample(ByteView encoded, std::string_view format, int64_t label, int64_t height,
                     int64_t width);

// A text with its class.
Example TextExample(std::string text, int64_t label);

// Common names of the features of an image, of a text and of its class, the most common first.
inline constexpr std::array<std::string_view, 4> kImageFeatures = {"image/encoded", "image",
                                                                   "image_raw", "jpeg"};
inline constexpr std::array<std::string_view, 2> kTextFeatures = {"text", "sentence"};
inline constexpr std::array<std::string_view, 3> kLabelFeatures = {"image/class/label", "label",
                                                                   "class"};

// --- Views ---

enum class FeatureKind : uint8_t { kNone, kBytes, kFloat, kInt64 };

struct FeatureView {
  std::string_view name;
  FeatureKind kind = FeatureKind::kNone;
  ByteView list;  // the serialized BytesList, FloatList or Int64List
};

// Reset walks the names of the features and skips their content: about 100 ns for an Example with
// one image, which protobuf would copy. A record in a shape that its writer need not have chosen (a
// feature given twice, a list in pieces, a group) is parsed by protobuf and walked in its normal
// shape, so the answers are always protobuf's. Damage inside a feature that nobody asks for goes
// unseen.
//
// Views point into the record, or into the object where the record had to be normalized; both must
// outlive them, and the next Reset ends them. One thread at a time; reuse the object.
class ExampleView {
 public:
  // An error if the record is not an Example.
  Status Reset(ByteView record);

  // Null if there is no such feature. Of a duplicate feature the last one counts.
  const FeatureView* Find(std::string_view name) const;
  // The first of these features that it has.
  const FeatureView* FindAny(std::span<const std::string_view> names) const;
  std::span<const FeatureView> features() const { return features_; }

 private:
  bool Walk(ByteView record);
  bool WalkFeatures(ByteView features);

  std::vector<FeatureView> features_;
  Buffer normal_;
};

// The values of a feature; an error if it is of another kind or its list is damaged. `into` is
// replaced; the views of bytes live as long as feature.list.
Status ReadBytes(const FeatureView& feature, std::vector<ByteView>& into);
Status ReadFloats(const FeatureView& feature, std::vector<float>& into);
Status ReadInt64s(const FeatureView& feature, std::vector<int64_t>& into);

// The same for features of exactly one value, as images and labels are.
Result<ByteView> OneBytes(const FeatureView& feature);
Result<int64_t> OneInt64(const FeatureView& feature);

}  // namespace stallscope::data
