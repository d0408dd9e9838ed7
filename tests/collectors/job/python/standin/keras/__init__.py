"""A stand-in for Keras 3 on TensorFlow."""
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer as Model  # noqa: F401

__version__ = "3.15.1"
