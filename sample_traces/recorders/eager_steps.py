#!/usr/bin/env python3
"""Trains a small network with TensorFlow whose step is not compiled: Python runs its operations one by one."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf  # noqa: E402


def main():
    tf.random.set_seed(1)
    batches = tf.data.Dataset.from_tensors(tf.random.uniform([16, 32])).repeat(60)
    weights = [tf.Variable(tf.random.uniform([32, 32], -0.1, 0.1)) for _ in range(4)]
    for x in batches:
        with tf.GradientTape() as tape:
            for weight in weights:
                x = tf.nn.relu(tf.matmul(x, weight))
            loss = tf.reduce_mean(x * x)
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.1 * gradient)


main()
