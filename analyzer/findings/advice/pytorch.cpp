// PyTorch 2.6 and later, with torchvision.
#include <array>

#include "analyzer/findings/advice/advice.h"

namespace stallscope::findings::advice {
namespace {

constexpr std::array kPyTorchLines = {
    Line{
        "parallel-reads",
        R"py(loader = DataLoader(dataset, batch_size, num_workers={value}, persistent_workers=True))py"},
    Line{
        "sharding",
        R"py(sampler = torch.utils.data.DistributedSampler(dataset, num_replicas={value}, rank=rank)
loader = DataLoader(dataset, batch_size, sampler=sampler)  # and sampler.set_epoch(epoch))py"},
    Line{
        "map-parallelism",
        R"py(loader = DataLoader(dataset, batch_size, num_workers={value}, persistent_workers=True))py"},
    Line{"loader-workers",
         R"py(loader = DataLoader(dataset, batch_size, num_workers={value}, persistent_workers=True,
                    prefetch_factor=4, pin_memory=True))py"},
    Line{"persistent-workers",
         R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers,
                    persistent_workers=True)  # made once, before the first epoch)py"},
    Line{
        "order",
        R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers, in_order=False))py"},
    Line{"vectorise", R"py(class Batched(torch.utils.data.Dataset):
    def __getitems__(self, indices):  # called once a batch
        return {stage}(self.data[indices]))py"},
    Line{
        "cache",
        R"py(images = torch.stack([{stage}(i) for i in range(len(dataset))])  # once; before what is random
dataset = torch.utils.data.TensorDataset(images, labels))py"},
    Line{
        "snapshot",
        R"py(torch.save(torch.stack([{stage}(i) for i in range(len(dataset))]), "snapshot.pt")  # once
images = torch.load("snapshot.pt", mmap=True, weights_only=True))py"},
    Line{
        "shuffle-buffer",
        R"py(loader = DataLoader(dataset, batch_size, shuffle=True)  # over all of a map-style dataset)py"},
    Line{
        "prefetch",
        R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers, prefetch_factor={value}))py"},
    Line{"batch-size", R"py(loader = DataLoader(dataset, batch_size={value}))py"},
    Line{"drop-remainder",
         R"py(loader = DataLoader(dataset, batch_size={value}, drop_last=True))py"},
    Line{"pinned-memory",
         R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers, pin_memory=True)
images = images.to(device, non_blocking=True))py"},
    Line{"copy-overlap",
         R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers, pin_memory=True)
with torch.cuda.stream(copies):  # copies = torch.cuda.Stream()
    ahead = images.to(device, non_blocking=True)
torch.cuda.current_stream().wait_stream(copies)  # before the step that uses it
ahead.record_stream(torch.cuda.current_stream()))py"},
    Line{
        "copy-size",
        R"py(packed = torch.cat([x.reshape(-1) for x in batch]).pin_memory().to(device, non_blocking=True)
parts = packed.split([x.numel() for x in batch]))py"},
    Line{"narrow-dtype", R"py(images = images.to(device, non_blocking=True)  # uint8 from the loader
images = images.float().div_(255)  # on the device)py"},
    Line{"device-preprocessing", R"py(from torchvision.transforms import v2
on_device = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)])
images = on_device(images.to(device, non_blocking=True)))py"},
    Line{"redundant-work", R"py(v2.ToDtype(torch.float32, scale=True)  # once)py"},
    Line{"late-cast",
         R"py(v2.Compose([v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)]))py"},
    Line{"kernel-fusion", R"py(model = torch.compile(model))py"},
    Line{"captured-graph",
         R"py(model = torch.compile(model, mode="reduce-overhead")  # CUDA graphs)py"},
    Line{"retracing", R"py(model = torch.compile(model, dynamic=True))py"},
    Line{"eager-ops", R"py(model = torch.compile(model))py"},
    Line{"mixed-precision", R"py(with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(images), labels)
loss.backward())py"},
    Line{"loss-scale", R"py(scaler = torch.amp.GradScaler("cuda", init_scale={value}))py"},
    Line{"strategy", R"py(model = torch.nn.parallel.DistributedDataParallel(
    model, bucket_cap_mb=100, gradient_as_bucket_view=True)
with model.no_sync():  # in all but every n-th step
    loss.backward())py"},
    Line{"idle-device", R"py(# torchrun --nproc-per-node={value} train.py
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank]))py"},
    Line{"serial-source", R"py(class Parts(torch.utils.data.IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        return {stage}(part=worker.id, parts=worker.num_workers)
loader = DataLoader(Parts(), batch_size, num_workers={value}))py"},
    Line{"decode-scaled", R"py(image = PIL.Image.open(file)
image.draft("RGB", (image.width // {value}, image.height // {value}))  # before it is loaded)py"},
    Line{
        "stragglers",
        R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers, in_order=False))py"},
    Line{"sync-points", R"py(if step % 50 == 0:  # .item() waits for the device
    print(loss.item()))py"},
};

}  // namespace

std::span<const Line> Pytorch() { return kPyTorchLines; }

}  // namespace stallscope::findings::advice
