"""Seeding of the random numbers that initialize a model."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import keras
import numpy as np


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the random numbers of Keras, numpy and Python within the block, and restore their state afterwards.

    The seed of TensorFlow is not restored: the state of its generator cannot be read, and Keras does not use it.
        Setting the seed clears TensorFlow's cache of kernels, including all SentencePiece models of tf-text: load
        preprocessors inside the block.

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
