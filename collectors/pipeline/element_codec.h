// An element as bytes, for caches and snapshots on disk: a header, the values, and a batch's
// members; then its other parts, each in the same form. Any thread.
#pragma once

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/pipeline/stage.h"

namespace stallscope::pipeline {

// Replaces what `into` holds.
void EncodeElement(const Element& element, data::Buffer& into);
Result<Element> DecodeElement(data::ByteView bytes, StageContext& context);

}  // namespace stallscope::pipeline
