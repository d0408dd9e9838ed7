#!/usr/bin/env python3
"""Records sample_traces/tf_images_*.xplane.pb.gz: tf.data image pipelines on the CPU.

    python -m venv venv && venv/bin/pip install tensorflow-cpu
    venv/bin/python sample_traces/recorders/tensorflow_images.py slow  OUT.xplane.pb.gz
    venv/bin/python sample_traces/recorders/tensorflow_images.py fixed OUT.xplane.pb.gz

`slow` decodes one picture after the other when a batch is asked for, and TensorFlow's own rewrites
of the pipeline are switched off: the step waits for its input. `fixed` is the same training with
the pipeline that TensorFlow's guide asks for: decoded pictures are kept in memory after the first
epoch, and batches are made ahead of their step. `generator` makes the pictures in a Python generator,
`python` decodes the records in a py_function, and `records` reads large records that need no decoding:
each with TensorFlow's own rewrites switched off. `files` reads each picture from a file of its own, its
bytes as they are. `tuned` leaves the number of workers to AUTOTUNE, and shuffles among fewer pictures than
a batch has. `untidy` widens pictures before it mirrors them, and resizes them twice. `shapes` is `fixed`
with batches of several sizes, for each of which the step is traced again; it is recorded from the first
step on.
"""
import argparse
import glob
import gzip
import os
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

IMAGES = 128
SIZE = (480, 640)
BATCH = 32
WARM_UP = 10  # steps before the recording: more than an epoch, and everything is traced once
STEPS = 20


def write_images(path):
    """Pictures of coloured noise over a slope: as slow to decode as photographs are."""
    random = tf.random.Generator.from_seed(7)
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(IMAGES):
            coarse = random.uniform((SIZE[0] // 8, SIZE[1] // 8, 3), 0, 255)
            image = tf.cast(tf.image.resize(coarse, SIZE), tf.uint8)
            writer.write(tf.io.encode_jpeg(image, quality=90).numpy())


def write_raw(path):
    """Pictures as raw bytes: large reads from the disk, and nothing to decode."""
    picture = np.random.default_rng(7).integers(0, 255, (*SIZE, 3), np.uint8)
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(IMAGES):
            writer.write(picture.tobytes())


def write_files(folder):
    random = np.random.default_rng(7)
    names = []
    for i in range(IMAGES):
        names.append(os.path.join(folder, f"{i}.bin"))
        with open(names[-1], "wb") as file:
            file.write(random.integers(0, 255, (64, 64, 3), np.uint8).tobytes())
    return names


def opened(name):
    picture = tf.io.decode_raw(tf.io.read_file(name), tf.uint8)
    return tf.cast(tf.reshape(picture, (64, 64, 3)), tf.float32)


def generated():
    random = np.random.default_rng(7)
    for _ in range(IMAGES):
        coarse = random.random((SIZE[0] // 2, SIZE[1] // 2, 3), np.float32)
        yield coarse[:64, :64]


def crop(record):
    return tf.cast(tf.reshape(tf.io.decode_raw(record, tf.uint8), (*SIZE, 3))[:64, :64], tf.float32)


def in_python(record):
    image = tf.py_function(prepare, [record], tf.float32)
    image.set_shape((64, 64, 3))
    return image


def prepare(record):
    image = tf.io.decode_jpeg(record, channels=3)
    image = tf.image.resize(image, (64, 64))
    return tf.cast(image, tf.float32) / 255.0


def decoded(record):
    return tf.io.decode_jpeg(record, channels=3)


def untidy(image):
    image = tf.image.flip_left_right(tf.cast(image, tf.float32) / 255.0)
    return tf.image.resize(tf.image.resize(image, (128, 128)), (64, 64))


def pipeline(path, kind):
    fixed = kind in ("fixed", "shapes")
    data = tf.data.TFRecordDataset(path)
    if fixed:
        data = data.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).cache()
    elif kind == "tuned":
        data = data.shuffle(16).map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
        return data.repeat().batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    elif kind == "files":
        data = tf.data.Dataset.from_tensor_slices(write_files(os.path.dirname(path))).map(opened)
    elif kind == "untidy":
        data = data.map(decoded).map(untidy)
    elif kind == "generator":
        data = tf.data.Dataset.from_generator(
            generated, output_signature=tf.TensorSpec((64, 64, 3), tf.float32))
    else:
        data = data.map({"slow": prepare, "python": in_python, "records": crop}[kind])
    data = data.repeat().batch(BATCH, drop_remainder=True)
    if fixed:
        return data.prefetch(tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.inject_prefetch = False
    options.experimental_optimization.map_parallelization = False
    return data.with_options(options)


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        first = tf.random.normal((3, 3, 3, 16), stddev=0.1, seed=1)
        second = tf.random.normal((3, 3, 16, 32), stddev=0.1, seed=2)
        self.weights = [tf.Variable(first), tf.Variable(second)]

    @tf.function
    def train_step(self, images):
        with tf.GradientTape() as tape:
            x = tf.nn.relu(tf.nn.conv2d(images, self.weights[0], 2, "SAME"))
            x = tf.nn.relu(tf.nn.conv2d(x, self.weights[1], 2, "SAME"))
            loss = tf.reduce_mean(tf.square(tf.reduce_mean(x, (1, 2)) - 0.5))
        for weight, gradient in zip(self.weights, tape.gradient(loss, self.weights)):
            weight.assign_sub(0.01 * gradient)
        return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = ["slow", "fixed", "generator", "python", "records", "files", "tuned", "untidy", "shapes"]
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("out")
    args = parser.parse_args()
    # One thread an op: their hand-overs would be most of the recording.
    tf.config.threading.set_intra_op_parallelism_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "images.tfrecord")
        (write_raw if args.kind == "records" else write_images)(path)
        batches = iter(pipeline(path, args.kind))
        model = Model()
        shapes = args.kind == "shapes"
        for _ in range(0 if shapes else WARM_UP):
            model.train_step(next(batches))
        options = tf.profiler.experimental.ProfilerOptions(
            host_tracer_level=2, python_tracer_level=0)
        tf.profiler.experimental.start(folder, options)
        for step in range(STEPS):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                batch = next(batches)
                # Each fifth batch is a size that no step before had.
                model.train_step(batch[:BATCH - step // 5] if shapes and step % 5 == 0 else batch).numpy()
        tf.profiler.experimental.stop()
        (trace,) = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
        with open(trace, "rb") as file, gzip.GzipFile(args.out, "wb", mtime=0) as out:
            out.write(file.read())


if __name__ == "__main__":
    main()
