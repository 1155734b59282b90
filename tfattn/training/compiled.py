"""Compilation of functions to graphs."""

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf


def compiled(function: Callable) -> Any:
    """Compile a function to a graph, traced once for each kind of input.

    TensorFlow counts traces by the code of a function, and warns when most of its calls are traced. But every model has
    weights of its own, and so a graph of its own. A partial has no code: it is counted by itself.

    Example:
        predict = compiled(lambda features: task.predictions(task(features)))
    """
    return tf.function(functools.partial(function), autograph=False, reduce_retracing=True)
