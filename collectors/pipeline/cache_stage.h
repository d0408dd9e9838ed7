// Cache and snapshot: the elements of the first epoch come out of a store in later ones.
//
// Elements from the store are new elements: they have the epoch that they come in, so that
// randomness after the cache is drawn again.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "collectors/pipeline/element_store.h"
#include "collectors/pipeline/runner.h"

namespace stallscope::pipeline {

struct CacheOptions {
  std::string name;
  StageId stage;
  uint64_t max_bytes = 0;                    // 0: no limit
  std::shared_ptr<const std::string> place;  // for errors about elements out of the store
};

class CacheStage final : public Stage {
 public:
  // `input` may be null where the store is sealed.
  CacheStage(StagePtr input, std::unique_ptr<ElementStore> store, CacheOptions options,
             StageContext& context)
      : input_(std::move(input)),
        store_(std::move(store)),
        options_(std::move(options)),
        context_(context),
        meter_(context.slow_down) {}
  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;

 private:
  Result<std::optional<Element>> Fill();
  void Record(trace::CacheOp op, const Element& element);

  const StagePtr input_;
  const std::unique_ptr<ElementStore> store_;
  const CacheOptions options_;
  StageContext& context_;
  uint32_t epoch_ = 0;
  uint64_t elements_ = 0;
  bool at_end_ = false;
  Status rewound_;
  WorkMeter meter_;
};

}  // namespace stallscope::pipeline
