// NVIDIA DALI 1.x. What a pipeline there does by itself has no line.
#include <array>

#include "analyzer/findings/advice/advice.h"

namespace stallscope::findings::advice {
namespace {

constexpr std::array kDaliLines = {
    Line{"record-format", R"py(data = fn.readers.tfrecord(path=files, index_path=indexes, features={
    "image": tfrec.FixedLenFeature((), tfrec.string, ""),
    "label": tfrec.FixedLenFeature([1], tfrec.int64, -1)}))py"},
    Line{"parallel-reads",
         R"py(data = fn.readers.tfrecord(path=files, index_path=indexes, features=features,
                           prefetch_queue_depth={value}, read_ahead=True))py"},
    Line{"sharding",
         R"py(data = fn.readers.tfrecord(path=files, index_path=indexes, features=features,
                           shard_id=rank, num_shards={value}))py"},
    Line{"map-parallelism",
         R"py(@pipeline_def(batch_size=batch_size, num_threads={value}, device_id=0)
def pipe(): ...)py"},
    Line{
        "cache",
        R"py(images = fn.decoders.image(jpegs, device="mixed", cache_size=megabytes, cache_type="largest")
# and stick_to_shard=True in the reader, so that each device sees the same pictures again)py"},
    Line{"shuffle-buffer",
         R"py(data = fn.readers.tfrecord(path=files, index_path=indexes, features=features,
                           random_shuffle=True, initial_fill={value}))py"},
    Line{
        "prefetch",
        R"py(@pipeline_def(batch_size=batch_size, num_threads=4, device_id=0, prefetch_queue_depth={value})
def pipe(): ...)py"},
    Line{"batch-size", R"py(@pipeline_def(batch_size={value}, num_threads=4, device_id=0)
def pipe(): ...)py"},
    Line{"drop-remainder",
         R"py(loader = DALIGenericIterator(pipe, ["images", "labels"], reader_name="reader",
                             last_batch_policy=LastBatchPolicy.DROP))py"},
    Line{
        "copy-overlap",
        R"py(@pipeline_def(batch_size=batch_size, num_threads=4, device_id=0, prefetch_queue_depth={value})
def pipe():
    return images.gpu()  # copied ahead, beside the step)py"},
    Line{"narrow-dtype", R"py(images = images.gpu()  # as uint8
images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, mean=mean, std=std))py"},
    Line{"device-preprocessing", R"py(images = fn.decoders.image(jpegs, device="mixed")
images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, mean=mean, std=std))py"},
    Line{
        "redundant-work",
        R"py(images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, mean=mean, std=std)  # one op)py"},
    Line{
        "late-cast",
        R"py(images = fn.crop_mirror_normalize(images, mirror=mirror, dtype=types.FLOAT, mean=mean, std=std))py"},
    Line{"serial-source", R"py(@pipeline_def(batch_size=batch_size, num_threads=4, device_id=0,
              py_num_workers={value}, py_start_method="spawn")
def pipe():
    return fn.external_source(source={stage}, parallel=True, batch=False))py"},
    Line{"decode-crop", R"py(images = fn.decoders.image_random_crop(jpegs, device="mixed")
images = fn.resize(images, size=224))py"},
};

}  // namespace

std::span<const Line> Dali() { return kDaliLines; }

}  // namespace stallscope::findings::advice
