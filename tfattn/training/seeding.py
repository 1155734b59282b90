"""Where the weights of a model begin."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import keras
import numpy as np


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within the block all that Keras, numpy and Python draw follows from a seed; then they go on as before.

    TensorFlow keeps the seed: its generator cannot be asked where it stands, and Keras draws nothing from it. To set it
    clears TensorFlow's cache of kernels, and with it every SentencePiece model that tf-text holds: what is used within
    the block is loaded within it.

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
