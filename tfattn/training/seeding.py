"""The seed of the random numbers that initialize a model."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import keras
import numpy as np


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the random numbers of Keras, numpy and Python within the block; afterwards they continue as before.

    TensorFlow keeps the seed: the state of its generator cannot be read, and Keras draws nothing from it. Setting the
    seed clears TensorFlow's cache of kernels, and with it every SentencePiece model that tf-text holds: load models
    that are used within the block inside of it.

    Example:
        with seeded(7):
            model = build_model()
    """
    states = random.getstate(), np.random.get_state()
    keras.utils.set_random_seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
