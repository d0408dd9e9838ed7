// Where the step loop gets batches that are on their way to the device or already there. Inside
// this room.
//
// The Loader takes a batch to the devices: checks it, converts it for the link, splits it among the
// replicas, enqueues the copies. The values of zipped inputs other than the first are copied as
// they are, and no model reads them. A slot is device memory for one batch; whoever calls Load must
// know that the slot's last batch is done with. One thread at a time.
//
// The Feed asks for batches and has them loaded. Next() and Release() belong to the trainer's
// thread. With prefetch its own thread runs ahead, as far as there are slots.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/base/thread.h"
#include "analyzer/spec/spec.h"
#include "collectors/pipeline/element.h"
#include "collectors/trainer/batch_form.h"
#include "collectors/trainer/devices.h"
#include "collectors/trainer/trainer.h"

namespace stallscope::trainer {

// A replica's part of a batch, on its device.
struct LoadedShard {
  BatchForm form;  // as it was copied
  int64_t first = 0;
  device::Address images = 0;
  device::Address labels = 0;
  std::vector<std::shared_ptr<device::Event>> copied;
};

struct LoadedBatch {
  pipeline::Element batch;  // its memory must stay until the copies are done
  size_t slot = 0;
  int64_t samples = 0;
  data::DType dtype = data::DType::kUint8;  // before it was converted for the link
  bool pixels = false;                      // values are 0 to 255
  std::vector<LoadedShard> shards;
  Ticks requested = 0;
  Ticks received = 0;
};

class Loader {
 public:
  Loader(Devices& devices, const Spec& spec, size_t slots, StageId stage)
      : devices_(devices), spec_(spec), stage_(stage), slots_(slots) {}
  ~Loader();
  Status Open();
  Result<LoadedBatch> Load(pipeline::Element batch, size_t slot);

 private:
  struct Shard {
    device::Block images;
    device::Block labels;
    std::vector<device::Block> others;  // of zipped inputs
    int32_t* staged_labels = nullptr;   // pinned
    size_t staged_count = 0;
  };
  struct Slot {
    data::Tensor converted;
    std::vector<Shard> shards;
  };

  Status CheckLabels(const pipeline::Element& batch) const;
  // The values for the link: the batch's own, or the slot's converted ones.
  const uint8_t* Converted(const pipeline::Element& batch, data::DType to, Slot& slot);
  Status LoadShard(const LoadedBatch& loaded, size_t replica, const uint8_t* values, Slot& slot,
                   LoadedShard& shard);
  // Enqueues the copy of `bytes`, a part of it in each stream; `into` grows as needed.
  Status CopyValues(size_t replica, const uint8_t* from, size_t bytes, ItemId batch,
                    device::Block& into);
  Status CopyLabels(const LoadedBatch& loaded, size_t replica, Shard& into, LoadedShard& shard);

  Devices& devices_;
  const Spec& spec_;
  const StageId stage_;
  // The batch of a load that failed after its first copies: they read it until the streams end,
  // which as the last members are destroyed first.
  pipeline::Element failed_;
  std::vector<Slot> slots_;
  std::vector<std::vector<std::unique_ptr<device::Stream>>> streams_;  // by replica
};

class Feed {
 public:
  // `in_flight`: steps that may be on the device while the next batch is requested.
  Feed(Devices& devices, const Spec& spec, const TrainerOptions& options, StageId stage,
       size_t in_flight);
  ~Feed();  // waits for a `next` that is under way
  Status Open();

  // Nothing: the data has ended.
  Result<std::optional<LoadedBatch>> Next();
  // The device is done with it.
  void Release(LoadedBatch&& batch);

 private:
  Result<std::optional<LoadedBatch>> Fetch(size_t slot);
  void Loop();
  bool WaitForSlot(size_t& slot);

  const Spec& spec_;
  const TrainerOptions& options_;
  const StageId stage_;
  const size_t prefetch_;
  QueueId queue_;
  Loader loader_;

  std::mutex mutex_;
  std::condition_variable ready_changed_;
  std::condition_variable slots_changed_;
  std::vector<size_t> free_slots_;
  std::deque<LoadedBatch> ready_;
  std::optional<Result<std::optional<LoadedBatch>>> end_;  // what the last fetch gave instead
  bool stop_ = false;
  ThreadGroup thread_;
};

}  // namespace stallscope::trainer
