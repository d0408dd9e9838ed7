"""TensorFlow jobs with a known bottleneck, and sound ones, for the accuracy table, in their own loops and
in Keras's `fit`. `planting.py` explains the usage and the rules; the start method has no effect here.
"""
import itertools
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import planting  # noqa: E402
import tensorflow as tf  # noqa: E402
from planting import burn, cost, planted  # noqa: E402

ONE = ("fork",)
SIDE = 128
MAPS = "Map ParallelMap ParallelMapV2 MapAndBatch MapAndBatchV2"


def batched(data):
    """Runs the pipeline as written: by default TensorFlow parallelizes sequential maps."""
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    return data.batch(planting.BATCH, drop_remainder=True).with_options(options)


def numbers():
    return tf.data.Dataset.range(10**9)


def work(loops):
    """An element, after some milliseconds of one core's time in TensorFlow's own code."""

    def prepare(i):
        x = tf.fill((SIDE, SIDE), tf.cast(i % 7, tf.float32))
        for _ in tf.range(loops):
            x = tf.tanh(x)
        return x[:16, :16]

    return prepare


def loops_for(seconds):
    """The number of repetitions that take about this long per element."""
    run = tf.function(work(tf.constant(300)))
    run(tf.constant(1, tf.int64))
    begin = time.perf_counter()
    run(tf.constant(1, tf.int64))
    return max(1, int(300 * seconds / (time.perf_counter() - begin)))


def waits(seconds):
    def read(i):
        time.sleep(seconds)
        return i

    def prepare(i):
        i = tf.numpy_function(read, [i], tf.int64)
        i.set_shape(())
        return tf.fill((16, 16), tf.cast(i % 7, tf.float32))

    return prepare


def loop(data, step_ms=None, compute=burn):
    weights = tf.Variable(tf.zeros((16, 16)))
    ended = []
    for batch in data:
        compute(planting.step_ms(step_ms) / 1000)
        weights.assign_sub(1e-4 * tf.reduce_mean(batch, 0))
        ended.append(planting.clocks())
        if len(ended) == planting.options.steps:
            break
    planting.finish(ended)


def fit(data, units=1024):
    units = 16 if planting.options.step_ms else units
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(units),
                              keras.layers.Dense(units), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    ended = []
    step_ms = planting.options.step_ms or 0  # else the model alone decides

    def on_train_batch_end(batch, logs):
        burn(step_ms / 1000)
        ended.append(planting.clocks())

    model.fit(data.map(lambda x: (x, tf.zeros((planting.BATCH, 1)))), verbose=0,
              steps_per_epoch=planting.options.steps,
              callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=on_train_batch_end)])
    planting.finish(ended)


@planted(MAPS, "cpu cpu_contention", methods=ONE)
def tf_slow_map():
    loop(batched(numbers().map(work(loops_for(cost(10) / planting.BATCH)))))


@planted(MAPS, "cpu cpu_contention", methods=ONE)
def tf_slow_map_ahead():
    loop(batched(numbers().map(work(loops_for(cost(16) / planting.BATCH)))).prefetch(2))


@planted(MAPS, "blocked", methods=ONE)
def tf_slow_store():
    loop(batched(numbers().map(waits(cost(10) / planting.BATCH))))


@planted(MAPS, "blocked", methods=ONE)
def tf_slow_store_in_parallel():
    loop(batched(numbers().map(waits(cost(40) / planting.BATCH), num_parallel_calls=2)).prefetch(2))


@planted("Generator FlatMap", "cpu serial cpu_contention blocked", methods=ONE)
def tf_generator():
    seconds = cost(10) / planting.BATCH

    def elements():
        for i in itertools.count():
            burn(seconds)
            yield [[float(i % 7)] * 16] * 16

    loop(batched(tf.data.Dataset.from_generator(
        elements, output_signature=tf.TensorSpec((16, 16), tf.float32))))


@planted(MAPS, "cpu cpu_contention", methods=ONE)
def keras_slow_map():
    fit(batched(numbers().map(work(loops_for(cost(30) / planting.BATCH)))).prefetch(2))


@planted(MAPS, "blocked", methods=ONE)
def keras_slow_store():
    fit(batched(numbers().map(waits(cost(30) / planting.BATCH))).prefetch(2))


def sound(name, run):
    planting.SOUND[name] = run


sound("sound_tf", lambda: loop(batched(numbers().map(work(1))).prefetch(2), 30))
# An accelerator computes: a step in Python would keep the interpreter's lock from the map.
sound("sound_tf_store", lambda: loop(
    batched(numbers().map(waits(0.001), num_parallel_calls=8)).prefetch(4), 30, time.sleep))
sound("sound_keras", lambda: fit(batched(numbers().map(work(1))).prefetch(2), 4096))


if __name__ == "__main__":
    planting.main()
