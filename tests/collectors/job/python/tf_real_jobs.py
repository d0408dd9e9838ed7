"""Small jobs with TensorFlow and Keras, one per name.

    python tf_real_jobs.py NAME
"""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
import keras  # noqa: E402
import loader_options  # noqa: E402
import tensorflow as tf  # noqa: E402


def twice(x):
    x = tf.cast(tf.reshape(x, [1]), tf.float32)
    return x * 2, x


def batches():
    return tf.data.Dataset.range(320).map(twice, num_parallel_calls=2).batch(8).prefetch(2)


def fit():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(batches(), verbose=0)
    print(["%.3g" % x for x in history.history["loss"]])


def loop():
    print(sum(float(tf.reduce_sum(x)) for x, _ in batches()))


def two_maps():
    data = tf.data.Dataset.range(320).map(twice)
    data = data.map(lambda x, _: x + 1)
    print(sum(float(tf.reduce_sum(x)) for x in data.batch(8)))


def own():
    tf.profiler.experimental.start(os.environ["OWN"])
    fit()
    tf.profiler.experimental.stop()


globals()[sys.argv[1]]()
