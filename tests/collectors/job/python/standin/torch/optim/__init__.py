from .optimizer import SGD, Optimizer
