// tf.data and, for what happens on the device, TensorFlow 2.
#include <array>

#include "analyzer/findings/advice/advice.h"

namespace stallscope::findings::advice {
namespace {

constexpr std::array kTfDataLines = {
    Line{"record-format",
         R"py(with tf.io.TFRecordWriter("data-00000.tfrecord") as writer:  # 100 MB and more a file
    for example in examples:
        writer.write(example.SerializeToString())
ds = tf.data.TFRecordDataset(tf.io.gfile.glob("data-*.tfrecord")))py"},
    Line{"parallel-reads", R"py(ds = tf.data.Dataset.list_files("data-*.tfrecord").interleave(
    tf.data.TFRecordDataset, cycle_length={value}, num_parallel_calls={value}))py"},
    Line{
        "sharding",
        R"py(ds = files.shard(num_shards={value}, index=rank)  # first of all, on the list of files)py"},
    Line{"map-parallelism",
         R"py(ds = ds.map({stage}, num_parallel_calls={value})  # or tf.data.AUTOTUNE)py"},
    Line{"order",
         R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False))py"},
    Line{"autotune",
         R"py(ds = ds.map(fn, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
options = tf.data.Options()
options.autotune.enabled = True
ds = ds.with_options(options))py"},
    Line{"vectorise",
         R"py(ds = ds.batch(batch_size).map({stage}, num_parallel_calls=tf.data.AUTOTUNE))py"},
    Line{"map-fusion",
         R"py(ds = ds.map(lambda x: {stage}({value}(x)), num_parallel_calls=tf.data.AUTOTUNE))py"},
    Line{"map-and-batch", R"py(options = tf.data.Options()
options.experimental_optimization.map_and_batch_fusion = True
ds = ds.with_options(options))py"},
    Line{
        "cache",
        R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE).cache()  # before shuffle and what is random)py"},
    Line{"cache-place", R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE).cache())py"},
    Line{
        "snapshot",
        R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE).snapshot("/path/to/snapshot"))py"},
    Line{
        "precomputed-augmentation",
        R"py(ds.repeat(variants).map({stage}, num_parallel_calls=tf.data.AUTOTUNE).save("/path/to/augmented")
ds = tf.data.Dataset.load("/path/to/augmented"))py"},
    Line{"shuffle-buffer", R"py(ds = ds.shuffle({value}, reshuffle_each_iteration=True))py"},
    Line{"shuffle-place",
         R"py(ds = ds.shuffle(buffer_size).map(decode, num_parallel_calls=tf.data.AUTOTUNE))py"},
    Line{"prefetch", R"py(ds = ds.prefetch({value})  # or tf.data.AUTOTUNE; last of all)py"},
    Line{"batch-size", R"py(ds = ds.batch({value}, drop_remainder=True))py"},
    Line{"drop-remainder", R"py(ds = ds.batch({value}, drop_remainder=True))py"},
    Line{
        "copy-overlap",
        R"py(ds = ds.apply(tf.data.experimental.prefetch_to_device("/gpu:0", buffer_size={value}))  # last)py"},
    Line{"narrow-dtype",
         R"py(# leave the images uint8 in the pipeline; the first layer of the model widens them
model = tf.keras.Sequential([tf.keras.layers.Rescaling(1.0 / 255), model]))py"},
    Line{"device-preprocessing", R"py(model = tf.keras.Sequential([
    tf.keras.layers.RandomFlip("horizontal"), tf.keras.layers.Rescaling(1.0 / 255), model]))py"},
    Line{
        "redundant-work",
        R"py(images = tf.image.convert_image_dtype(images, tf.float32)  # once, and no cast beside it)py"},
    Line{"late-cast", R"py(image = tf.image.random_flip_left_right(image)  # while it is uint8
image = tf.cast(image, tf.float32) / 255.0  # last)py"},
    Line{"kernel-fusion", R"py(@tf.function(jit_compile=True)
def train_step(images, labels): ...)py"},
    Line{"captured-graph", R"py(@tf.function(jit_compile=True, reduce_retracing=True)
def train_step(images, labels): ...)py"},
    Line{"retracing",
         R"py(@tf.function(reduce_retracing=True)  # and drop_remainder=True for the batches
def train_step(images, labels): ...)py"},
    Line{"eager-ops", R"py(@tf.function
def train_step(images, labels): ...)py"},
    Line{"mixed-precision", R"py(tf.keras.mixed_precision.set_global_policy("mixed_bfloat16"))py"},
    Line{
        "loss-scale",
        R"py(optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer, initial_scale={value}))py"},
    Line{"strategy", R"py(strategy = tf.distribute.MirroredStrategy(
    cross_device_ops=tf.distribute.NcclAllReduce(num_packs=1)))py"},
    Line{"idle-device", R"py(strategy = tf.distribute.MirroredStrategy()  # all devices
with strategy.scope():
    model = make_model())py"},
    Line{"serial-source", R"py(ds = tf.data.Dataset.range({value}).interleave(
    lambda part: tf.data.Dataset.from_generator(
        {stage}, args=(part,), output_signature=signature),  # generators share Python's lock:
    cycle_length={value}, num_parallel_calls={value})        # read files by tf.data where you can)py"},
    Line{"decode-scaled", R"py(image = tf.io.decode_jpeg(data, channels=3, ratio={value}))py"},
    Line{
        "decode-crop",
        R"py(image = tf.image.decode_and_crop_jpeg(data, [top, left, height, width], channels=3))py"},
    Line{"stragglers", R"py(options = tf.data.Options()
options.deterministic = False
ds = ds.with_options(options))py"},
    Line{"sync-points", R"py(model.compile(optimizer, loss, steps_per_execution=50))py"},
};

}  // namespace

std::span<const Line> TfData() { return kTfDataLines; }

}  // namespace stallscope::findings::advice
