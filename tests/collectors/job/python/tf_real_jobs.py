"""Small jobs with TensorFlow and Keras, one per name.

    python tf_real_jobs.py NAME
"""
import os
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
import keras  # noqa: E402
import loader_options  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402


def twice(x):
    x = tf.cast(tf.reshape(x, [1]), tf.float32)
    return x * 2, x


def batches():
    return tf.data.Dataset.range(320).map(twice, num_parallel_calls=2).batch(8).prefetch(2)


def fit(data=None):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(data or batches(), verbose=0, shuffle=False)
    print(["%.3g" % x for x in history.history["loss"]])


def fit_of_unknown_length():
    data = tf.data.Dataset.from_generator(
        lambda: (([float(i)], [float(i)]) for i in range(64)),
        output_signature=(tf.TensorSpec([1]), tf.TensorSpec([1])))
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data.batch(8), epochs=3, verbose=0)


def fit_of_buckets():
    data = tf.data.Dataset.from_generator(
        lambda: ((np.ones((1 + i % 8, 1)), [float(i)]) for i in range(64)),
        output_signature=(tf.TensorSpec([None, 1]), tf.TensorSpec([1])))
    data = data.bucket_by_sequence_length(lambda x, _: tf.shape(x)[0], [5], [8, 4])
    model = keras.Sequential([
        keras.layers.Input((None, 1)), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data, epochs=2, verbose=0)


def fit_and_evaluate():
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with tempfile.TemporaryDirectory() as folder:
        save = keras.callbacks.ModelCheckpoint(os.path.join(folder, "{epoch}.keras"))
        model.fit(batches(), validation_data=batches(), epochs=2, verbose=0, callbacks=[save])
    print("%.3g" % model.evaluate(batches(), verbose=0))


def loop():
    print(sum(float(tf.reduce_sum(x)) for x, _ in batches()))


@tf.function
def over(data):
    total = 0.0
    for x, _ in data:
        total += tf.reduce_sum(x)
    return total


@tf.function
def first(iterator):
    return tf.reduce_sum(next(iterator)[0])


def loop_in_a_function():
    print(float(over(batches())))


def next_in_a_function():
    iterator = iter(batches())
    print(sum(float(first(iterator)) for _ in range(40)))


def summed(window):
    total = tf.constant(0, tf.int64)
    for x in window:
        total += x
    return total


def loop_in_a_map():
    data = tf.data.Dataset.range(80).window(2).map(summed).batch(8)
    print(sum(float(tf.reduce_sum(x)) for x in data))


def two_maps():
    data = tf.data.Dataset.range(320).map(twice)
    data = data.map(lambda x, _: x + 1)
    print(sum(float(tf.reduce_sum(x)) for x in data.batch(8)))


def map_elsewhere():
    data = loader_options.mapped(tf.data.Dataset.range(320), lambda x: x + 1)
    print(sum(float(tf.reduce_sum(x)) for x in data.batch(8)))


class Numbers(keras.utils.PyDataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return tf.ones([8, 1]) * index, tf.ones([8, 1])


def py_dataset():
    data = Numbers(workers=2, max_queue_size=2)
    data.batch_size = 8  # Keras's does not have one
    fit(data)


def own():
    tf.profiler.experimental.start(os.environ["OWN"])
    fit()
    tf.profiler.experimental.stop()


globals()[sys.argv[1]]()
