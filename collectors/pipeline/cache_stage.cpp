#include "collectors/pipeline/cache_stage.h"

#include <fmt/format.h>

#include "collectors/recorder/track.h"

namespace stallscope::pipeline {

void CacheStage::Record(trace::CacheOp op, const Element& element) {
  if (recorder::Track* track = recorder::CurrentTrack(); track != nullptr) {
    track->Cache(options_.stage, op, element.item, epoch_, element.bytes(), NowTicks());
  }
}

Result<std::optional<Element>> CacheStage::Fill() {
  STALLSCOPE_ASSIGN_OR_RETURN(auto element, input_->Next());
  if (!element.has_value()) {
    STALLSCOPE_RETURN_IF_ERROR(store_->Seal());
    at_end_ = true;
    return element;
  }
  meter_.Begin(options_.stage);
  STALLSCOPE_RETURN_IF_ERROR(store_->Add(*element));
  meter_.End(options_.stage, element->item, 0);
  ++elements_;
  if (options_.max_bytes > 0 && store_->bytes() > options_.max_bytes) {
    return Error{ErrorKind::kRun,
                 fmt::format("the cache '{}' is full: its {} bytes hold {} elements, and there are "
                             "more",
                             options_.name, options_.max_bytes, elements_ - 1),
                 "", "raise max_bytes, cache smaller elements, or cache on disk"};
  }
  Record(trace::CacheOp::kFill, *element);
  return element;
}

Result<std::optional<Element>> CacheStage::Next() {
  STALLSCOPE_RETURN_IF_ERROR(rewound_);
  if (at_end_) return std::optional<Element>();
  if (!store_->sealed()) return Fill();
  if (context_.token.cancelled()) return CancelledError();
  meter_.Begin(options_.stage);
  STALLSCOPE_ASSIGN_OR_RETURN(auto element, store_->Next());
  if (!element.has_value()) {
    at_end_ = true;
    return element;
  }
  element->item = context_.NewItem();
  for (size_t i = 0; i < element->parts(); ++i) {
    Element& part = element->part(i);
    part.id.epoch = epoch_;
    if (part.batch != nullptr) {
      for (ElementId& id : part.batch->ids) id.epoch = epoch_;
    }
    part.file = options_.place;
  }
  element->completed = NowTicks();
  meter_.End(options_.stage, element->item, element->bytes());
  Record(trace::CacheOp::kHit, *element);
  return element;
}

// A first epoch that was not read to its end leaves the store as it is: never the case, because a
// restart comes only at the end.
void CacheStage::Restart(uint32_t epoch) {
  epoch_ = epoch;
  at_end_ = false;
  if (store_->sealed()) {
    rewound_ = store_->Rewind();
  } else {
    input_->Restart(epoch);
  }
}

}  // namespace stallscope::pipeline
