// What every stage is, and what all stages of one pipeline share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/pipeline/cancel.h"
#include "collectors/pipeline/element.h"
#include "collectors/pipeline/slow_down.h"
#include "collectors/pipeline/stage_ranges.h"
#include "collectors/pipeline/tensor_pool.h"
#include "collectors/recorder/recorder.h"

namespace stallscope::pipeline {

// Bad elements that were skipped, and notes for the user. Any thread.
class Ledger {
 public:
  void Skip(const Error& error, uint64_t bytes);
  void Note(const std::string& text);  // once each

  uint64_t skipped() const;
  uint64_t skipped_bytes() const;
  std::string first_skipped() const;
  std::vector<std::string> notes() const;

 private:
  mutable std::mutex mutex_;
  uint64_t skipped_ = 0;
  uint64_t skipped_bytes_ = 0;
  std::string first_;
  std::vector<std::string> notes_;
};

struct StageContext {
  uint64_t seed = 0;
  bool skip_errors = false;                // on_error: skip
  recorder::Recorder* recorder = nullptr;  // may be null
  StageRanges ranges;
  SlowDown* slow_down = nullptr;  // may be null
  CancelToken token;
  TensorPool elements;
  std::unique_ptr<TensorPool> batches;  // in the device's memory, where it gave some
  Ledger ledger;
  std::atomic<uint64_t> next_item{0};
  std::atomic<uint64_t> source_elements{0};

  ItemId NewItem() { return ItemId{next_item.fetch_add(1, std::memory_order_relaxed)}; }
  // The element's memory goes back to the pools.
  void Recycle(Element&& element) noexcept;

  // Ends the pipeline with an error that no element can carry: a thread that could not be started,
  // or that ran out of memory. The first one counts. Any thread, with no lock held: it cancels.
  void Fail(Error error, const std::string& who);
  std::optional<Error> failure() const;

 private:
  mutable std::mutex failure_mutex_;
  std::optional<Error> failure_;
};

// Pulled by the stage behind it, one call at a time, though not always by the same thread. After an
// error or Cancel() it may only be destroyed.
class Stage {
 public:
  virtual ~Stage() = default;
  // The next element; nothing at the end of the epoch, however often it is called.
  virtual Result<std::optional<Element>> Next() = 0;
  // Begins another epoch of everything up to here. Only after Next() gave nothing, or before the
  // first Next().
  virtual void Restart(uint32_t epoch) = 0;
};

using StagePtr = std::unique_ptr<Stage>;

// A stage that has one before it.
class ChainedStage : public Stage {
 public:
  void Restart(uint32_t epoch) override { input_->Restart(epoch); }

 protected:
  ChainedStage(StagePtr input, StageContext& context)
      : input_(std::move(input)), context_(context) {}

  StagePtr input_;
  StageContext& context_;
};

}  // namespace stallscope::pipeline
