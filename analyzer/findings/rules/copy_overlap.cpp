// Row 14: the device waits for a copy that could run while it computes.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::copy_overlap {
namespace {

// Each replica has its own buffers on its own device.
constexpr Advice kForReplicas = {
    .tf_data =
        R"py(options = tf.distribute.InputOptions(experimental_per_replica_buffer_size={value})
ds = strategy.experimental_distribute_dataset(ds, options))py",
    .pytorch =
        R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers, pin_memory=True,
                    sampler=sampler)  # in each replica's process
images = images.to(local_rank, non_blocking=True)  # one step ahead of its own)py",
    .dali =
        R"py(@pipeline_def(batch_size=batch_size, num_threads=4, device_id=local_rank)
def pipe():
    return images.gpu()  # copied ahead, beside the step)py",
    .grain = R"py(ds = grain.experimental.device_put(
    ds=ds, device=jax.local_devices()[0], cpu_buffer_size=4, device_buffer_size={value}))py",
};

// Only so much is hidden as is computed meanwhile. The size is the number of the assumption: the
// copies become faster, too, where they were not from pinned memory. With batches prefetched to the
// device, the next one is asked for while this one is computed, like from a prefetch.
Effect Hidden(const Assumed& left, int64_t ahead) {
  return {[left, ahead](Load& load, double size) {
            if (ahead > 0) PrepareAhead(load, ahead);
            const auto which = static_cast<size_t>(size);
            double& transfer = load.exposed_s[At(Category::kTransfer)];
            transfer *= left[which];
            const double cover = load.exposed_s[At(Category::kCompute)];
            transfer -= kHiddenCopy[which] * std::min(transfer, cover);
          },
          {0, 1, 2}};
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kTransfer)) return;
  // Without kernels there is nothing to hide a copy behind.
  if (Share(c, Category::kCompute) < kModerateShare) return;
  if (c.spec.has_value() && c.spec->transfer.overlap) return;
  const CopiesToDevice copies = CopiesOf(c);
  const double copied = Share(c, Category::kTransfer);
  // What is copied ahead is requested and launched ahead, too: such a change shortens all three.
  const bool asks_ahead = c.spec.has_value() && c.spec->transfer.prefetch_to_device == 0;
  const double waited =
      asks_ahead ? Share(c, Category::kInputStall) + Share(c, Category::kLaunch) : 0;
  std::string text =
      fmt::format("for {} of step time the device does nothing but copy", Percent(copied));
  if (waited >= kLeastSaid) {
    text += fmt::format(", and for {} it waits until the next batch is requested and launched",
                        Percent(waited));
  }
  Draft draft = About(c, StageId::None(), copied + waited, std::move(text));
  Show(draft, Evidence::Kind::kCopy,
       fmt::format("{} to the device, {}", Counted(copies.count, "copy", "copies"),
                   Bytes(copies.bytes)));
  Patch patch;
  int64_t ahead = 0;
  if (c.spec.has_value()) {
    patch = Setting("transfer.overlap", true);
    // A copy from pageable memory holds the host up until it is done.
    if (!c.spec->transfer.pinned) patch.changes.emplace_back(SetTo("transfer.pinned", true));
    if (asks_ahead) {
      ahead = kFirstPrefetch;
      patch.changes.emplace_back(SetTo("transfer.prefetch_to_device", ahead));
    }
  }
  draft.args.value = std::to_string(kFirstPrefetch);
  const bool replicas = c.spec.has_value() && c.spec->trainer.strategy.replicas > 1;
  if (replicas) draft.advice = &kForReplicas;
  const bool pinned = copies.count > 0 && copies.pinned == copies.count;
  Recommend(draft,
            fmt::format("{}copy the next batch {}while {} this one",
                        BeforeMoreDeviceMemory(c, BytesOfBatch(c) * static_cast<double>(ahead)),
                        pinned ? "" : "from pinned memory ",
                        replicas ? "the devices compute" : "the device computes"),
            std::move(patch), Hidden(LeftWhenPinned(c), ahead));
  CostsMemory(draft, BytesOfBatch(c) * static_cast<double>(kFirstPrefetch));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "copy-overlap",
    .row = 14,
    .shortens = Parts(Category::kTransfer),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds = ds.apply(tf.data.experimental.prefetch_to_device("/gpu:0", buffer_size={value}))  # last)py",
        .pytorch =
            R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers, pin_memory=True)
with torch.cuda.stream(copies):  # copies = torch.cuda.Stream()
    ahead = images.to(device, non_blocking=True)
torch.cuda.current_stream().wait_stream(copies)  # before the step that uses it
ahead.record_stream(torch.cuda.current_stream()))py",
        .dali =
            R"py(@pipeline_def(batch_size=batch_size, num_threads=4, device_id=0)
def pipe():
    return images.gpu()  # copied ahead, beside the step)py",
        .grain = R"py(ds = grain.experimental.device_put(
    ds=ds, device=jax.devices()[0], cpu_buffer_size=4, device_buffer_size={value}))py",
    }};

}  // namespace stallscope::findings::copy_overlap
