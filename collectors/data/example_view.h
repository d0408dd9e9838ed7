// Finds features in a serialised tf.train.Example without building it.
//
// Reset walks the names of the features and steps over their content: for an Example with one
// image that is some 100 ns, where protobuf would copy the image. A record in a shape that its
// writer need not have chosen (a feature given twice, a list in pieces, a group) is parsed by
// protobuf and walked in its normal shape, so the answers are protobuf's in every case. Of a
// damaged record only what is asked for is looked at: damage inside another feature's values goes
// unseen.
//
// Views point into the record, or into the object where the record had to be normalised; both must
// outlive them, and the next Reset ends them. One thread at a time; reuse the object.
#ifndef STALLSCOPE_COLLECTORS_DATA_EXAMPLE_VIEW_H_
#define STALLSCOPE_COLLECTORS_DATA_EXAMPLE_VIEW_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"

namespace stallscope::data {

enum class FeatureKind : uint8_t { kNone, kBytes, kFloat, kInt64 };

struct FeatureView {
  std::string_view name;
  FeatureKind kind = FeatureKind::kNone;
  ByteView list;  // the serialised BytesList, FloatList or Int64List
};

class ExampleView {
 public:
  // An error where the record is no Example.
  Status Reset(ByteView record);

  // Null where the Example has no such feature. A feature named twice is its last one.
  const FeatureView* Find(std::string_view name) const;
  std::span<const FeatureView> features() const { return features_; }

 private:
  bool Walk(ByteView record);
  bool WalkFeatures(ByteView features);

  std::vector<FeatureView> features_;
  Buffer normal_;
};

// The values of a feature, an error where it is of another kind or its list is damaged. `into` is
// replaced; the views of bytes live as long as feature.list.
Status ReadBytes(const FeatureView& feature, std::vector<ByteView>& into);
Status ReadFloats(const FeatureView& feature, std::vector<float>& into);
Status ReadInt64s(const FeatureView& feature, std::vector<int64_t>& into);

// The same for features of exactly one value, as images and labels are.
Result<ByteView> OneBytes(const FeatureView& feature);
Result<int64_t> OneInt64(const FeatureView& feature);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_EXAMPLE_VIEW_H_
