"""Activation functions by the names that configurations use."""

from typing import Any

from keras import ops


def gelu(x: Any) -> Any:
    """x Phi(x), with the exact normal distribution function (Hendrycks and Gimpel 2016); Hugging Face's `gelu`."""
    return ops.gelu(x, approximate=False)


def gelu_approximate(x: Any) -> Any:
    """x Phi(x), with Phi by tanh; google-research/bert's and KerasHub's, Hugging Face's `gelu_new`."""
    return ops.gelu(x, approximate=True)


ACTIVATIONS = {"gelu": gelu, "gelu_approximate": gelu_approximate, "relu": ops.relu}
