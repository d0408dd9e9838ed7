"""Small TensorFlow jobs for tests, one per name; they run with TensorFlow and with the stand-in.

    python tf_jobs.py NAME
"""
import os
import sys

import keras
import tensorflow as tf


def twice(x):
    return x * 2


def batches(count=160):
    return tf.data.Dataset.range(count).map(twice, num_parallel_calls=2).batch(8).prefetch(2)


def fit(**more):
    print(keras.Model().fit(batches(), **more))


def epochs():
    fit(epochs=4)


def unknown_length():
    fit(epochs=2, unknown=True)


def evaluated():
    fit(epochs=2, validation_data=batches(40))


def loop():
    print([sum(batch.values) for batch in batches()])


def own_before():
    tf.profiler.experimental.start(os.environ["OWN"])
    fit()
    tf.profiler.experimental.stop()


def own_within():
    def callback(steps):
        if steps == 9:
            tf.profiler.experimental.start(os.environ["OWN"])
        if steps == 12:
            tf.profiler.experimental.stop()

    fit(callback=callback)


def killed():
    fit(callback=lambda steps: os.kill(os.getpid(), 9) if steps == 9 else None)


globals()[sys.argv[1]]()
