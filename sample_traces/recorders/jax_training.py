#!/usr/bin/env python3
"""Records sample_traces/jax_training.xplane.pb.gz: a small network that JAX trains on the CPU.

    python -m venv venv && venv/bin/pip install jax
    venv/bin/python sample_traces/recorders/jax_training.py OUT.xplane.pb.gz

Its batches lie ready in memory, so the steps have nothing to wait for but the computation.
"""
import argparse
import glob
import gzip
import os
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

BATCH = 256
WIDTH = 512
WARM_UP = 3
STEPS = 24


@jax.jit
def train_step(weights, images, labels):
    def loss(weights):
        hidden = jax.nn.relu(images @ weights[0])
        return jnp.mean((hidden @ weights[1] - labels) ** 2)

    gradients = jax.grad(loss)(weights)
    return [w - 0.01 * g for w, g in zip(weights, gradients)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    args = parser.parse_args()
    keys = jax.random.split(jax.random.PRNGKey(7), 4)
    weights = [jax.random.normal(keys[0], (WIDTH, WIDTH)) / 32,
               jax.random.normal(keys[1], (WIDTH, 10)) / 32]
    images = jax.random.normal(keys[2], (BATCH, WIDTH))
    labels = jax.random.normal(keys[3], (BATCH, 10))
    for _ in range(WARM_UP):
        weights = jax.block_until_ready(train_step(weights, images, labels))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        for step in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                weights = jax.block_until_ready(train_step(weights, images, labels))
        jax.profiler.stop_trace()
        (trace,) = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
        with open(trace, "rb") as file, gzip.GzipFile(args.out, "wb", mtime=0) as out:
            out.write(file.read())


if __name__ == "__main__":
    main()
