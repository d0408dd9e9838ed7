// Inside this room: one factory per file of ops. Each returns null if the call is not one of its
// ops.
#pragma once

#include "collectors/data/image.h"
#include "collectors/pipeline/op.h"
#include "collectors/pipeline/random.h"

namespace stallscope::pipeline {

// parse_example, decode_jpeg, decode_png, decode_csv. `next` is the op after it, or null: a
// decode_jpeg with crop decodes only what that op keeps, and does its work as well (`took_next`).
OpPtr MakeDecodeOp(const OpInstance& call, const OpInstance* next, const FeatureKeys& keys,
                   bool& took_next);
// resize, crop, random_resized_crop, flip
OpPtr MakeGeometryOp(const OpInstance& call);
// scale, normalize, cast, one_hot, color_jitter
OpPtr MakeValueOp(const OpInstance& call);
// busy, sleep
OpPtr MakeCostOp(const OpInstance& call);
// tokenize, pad
OpPtr MakeTextOp(const OpInstance& call, const FeatureKeys& keys);

// ImageNet's usual figures, of value * by + offset.
data::NormalizeBy NormalizationOf(const OpCall& normalize);

// tokenize, pad
OpPtr MakeTextOp(const OpInstance& call, const FeatureKeys& keys);

// The region of an image that a crop takes, and the side it is resized to (0: not resized).
struct CropPlan {
  OpInstance call;  // crop or random_resized_crop
  int64_t side() const { return call.call.Integer("size"); }
  bool resizes() const { return call.call.name() == "random_resized_crop"; }
  Result<data::Rect> Of(const ElementId& id, uint64_t seed, int width, int height) const;
};
bool IsCrop(const OpInstance& call);

// The image's bytes in a record or a file, as far as it has been understood; a view into the
// element. Sets the label where the record has one.
Result<data::ByteView> EncodedImage(Element& element, const FeatureKeys& keys, OpWorker& worker);
// The element's class, also where it is still in its record.
Result<int64_t> LabelOf(const Element& element, const FeatureKeys& keys, OpWorker& worker);
// The text of a record, as EncodedImage gives an image. `op` needs it.
Result<data::ByteView> TextOf(Element& element, std::string_view op, const FeatureKeys& keys,
                              OpWorker& worker);

}  // namespace stallscope::pipeline
