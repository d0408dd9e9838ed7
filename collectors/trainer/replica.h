// One copy of the model on one device: its memory, its compute stream, its programs. Inside this
// room; belongs to the trainer's thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/spec/spec.h"
#include "collectors/device/device.h"
#include "collectors/trainer/feed.h"
#include "collectors/trainer/plan.h"

namespace stallscope::trainer {

class Replica {
 public:
  Replica(device::Device& device, const TrainerSpec& trainer, uint64_t seed, size_t replicas,
          size_t index)
      : device_(device), trainer_(trainer), seed_(seed), replicas_(replicas), index_(index) {}
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  Status Open();
  // Waits for what was enqueued. Call it before freeing the memory that it uses: this replica's,
  // the others' (their gradients), and the batches'.
  void CloseStream() { stream_.reset(); }

  // Enqueues a step's work: the maps of the device, then forward and backward pass. `first`: of the
  // batches of an update.
  Status Compute(const LoadedBatch& batch, const std::vector<pipeline::DeviceMap>& maps,
                 const DeviceOps& ops, bool first);
  // Enqueues the sum of all replicas' gradients, if there are several.
  Status AllReduce(const std::vector<std::unique_ptr<Replica>>& all, ItemId batch);
  Status Update(ItemId batch);
  // Enqueues the copy of the step's state into `into`, which is pinned; nothing if the device does
  // not compute.
  Status ReadState(float* into, ItemId batch);
  device::Stream& stream() { return *stream_; }

  uint64_t flops() const { return program_ == nullptr ? 0 : program_->flops; }
  size_t launches() const { return launches_; }  // of the last step, by the host
  uint64_t captures() const { return captures_; }
  int64_t capture_ns() const { return capture_ns_; }  // time they took on the host
  // The model's size, even on a device that keeps no memory.
  uint64_t model_bytes() const { return model_bytes_; }

 private:
  // A batch's shape, its slot's address, the samples of all replicas.
  using Key =
      std::tuple<int64_t, std::vector<int64_t>, data::DType, device::Address, int64_t, bool>;
  struct Memory {
    device::Block weights, gradients, sum, reduced, moment1, moment2, state;
  };

  Status AllocateModel(const Plan& plan);
  // kUsage if the plan's parameters are not those of the model.
  Status CheckModel(const Plan& plan, const BatchForm& form) const;
  // This replica's own share of what the update reads.
  device::Operand Gradients() const;
  Status GrowActivations(uint64_t bytes);
  Status FindProgram(const BatchForm& form, const LoadedShard& shard, const LoadedBatch& batch,
                     device::Address images, bool pixels);
  Status Capture(Program& program);
  Result<std::shared_ptr<const device::Graph>> CaptureList(
      const std::vector<const std::vector<device::Launch>*>& lists);
  Status RunList(const std::vector<device::Launch>& list,
                 const std::shared_ptr<const device::Graph>& graph, ItemId batch);
  Status Upload(device::Address to, const float* values, size_t count);
  // Runs the maps; `form` and `images` become what they leave.
  Status RunMaps(const LoadedBatch& batch, const std::vector<pipeline::DeviceMap>& maps,
                 const DeviceOps& ops, BatchForm& form, device::Address& images);
  Status RunOp(const LoadedBatch& batch, const pipeline::OpInstance& op, const DeviceOps& ops,
               BatchForm& form, device::Address& images);
  // Runs the op with the device's own kernels; false if it has none for it.
  Result<bool> RunPlanned(const LoadedBatch& batch, const pipeline::OpInstance& op,
                          const DeviceOps& ops, const std::vector<pipeline::ElementId>& ids,
                          const BatchForm& form, device::Address images, const BatchForm& after,
                          device::Address out);
  // Copies the values to the device, from pinned memory that stays unchanged meanwhile.
  Result<device::Address> UploadRegions(const std::vector<int32_t>& regions, ItemId batch);
  Result<device::Address> MapBuffer(size_t bytes);

  device::Device& device_;
  const TrainerSpec& trainer_;
  const uint64_t seed_;
  const size_t replicas_;
  const size_t index_;
  std::unique_ptr<device::Stream> stream_;
  Memory memory_;
  device::Block activations_;
  std::vector<device::Block> map_buffers_;
  // Used in turn by the ops of all steps that may be on the device.
  struct Regions {
    int32_t* host = nullptr;  // pinned
    size_t count = 0;
    device::Block block;
    std::shared_ptr<device::Event> copied;
  };
  std::array<Regions, 8> regions_;
  size_t next_regions_ = 0;
  size_t next_map_buffer_ = 0;
  std::map<Key, Program> programs_;
  Program* program_ = nullptr;
  size_t launches_ = 0;
  uint64_t captures_ = 0;
  int64_t capture_ns_ = 0;
  std::vector<Parameter> parameters_;
  int64_t parameter_elements_ = 0;
  uint64_t model_bytes_ = 0;
};

// What a model learns from, on a device that computes nothing, if it cannot take such a batch.
BatchForm EmulatedForm(const BatchForm& form, const ModelSpec& model);

}  // namespace stallscope::trainer
