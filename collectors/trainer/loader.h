// Takes batches to the devices: checks them, converts them to what goes over the link, splits them
// among the replicas, enqueues the copies. Inside this room; one thread at a time.
//
// A slot is device memory for one batch. Whoever calls Load must know that the slot's last batch is
// done with.
#ifndef STALLSCOPE_COLLECTORS_TRAINER_LOADER_H_
#define STALLSCOPE_COLLECTORS_TRAINER_LOADER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "collectors/pipeline/element.h"
#include "collectors/trainer/device_ops.h"
#include "collectors/trainer/devices.h"

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
    int32_t* staged_labels = nullptr;  // pinned
    size_t staged_count = 0;
  };
  struct Slot {
    data::Tensor converted;
    std::vector<Shard> shards;
  };

  Status CheckLabels(const pipeline::Element& batch) const;
  // The values as they go over the link: the batch's own, or the slot's converted ones.
  const uint8_t* Converted(const pipeline::Element& batch, data::DType to, Slot& slot);
  Status LoadShard(const LoadedBatch& loaded, size_t replica, const uint8_t* values, Slot& slot,
                   LoadedShard& shard);
  Status CopyLabels(const LoadedBatch& loaded, size_t replica, Shard& into, LoadedShard& shard);

  Devices& devices_;
  const Spec& spec_;
  const StageId stage_;
  // Of a load that failed after its first copies were begun: they read it until the streams end,
  // which as the last members go first.
  pipeline::Element failed_;
  std::vector<Slot> slots_;
  std::vector<std::vector<std::unique_ptr<device::Stream>>> streams_;  // by replica
};

}  // namespace stallscope::trainer

#endif  // STALLSCOPE_COLLECTORS_TRAINER_LOADER_H_
