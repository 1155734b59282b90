"""Attention through all layers at once."""

import numpy as np


def rollout(weights: np.ndarray) -> np.ndarray:
    """Multiply the attention of layers: how much of each input token is in each vector, were they only mixed.

    Every layer counts as the mean of its heads, and half of it as the residual connection, which keeps each token where
    it is.

    Args:
        weights: (L, H, T, T), of a model that attends to itself, causal or not; each row sums to 1.

    Returns:
        (L, 1, T, T) float32: after each layer; each row sums to 1.

    Example:
        >>> rollout(np.eye(3)[None, None])[0, 0].tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]

    Source: Abnar and Zuidema 2020, "Quantifying attention flow in Transformers", section 3.
    """
    mixed = np.eye(weights.shape[-1], dtype=np.float64)
    layers = []
    for layer in weights:
        mixed = 0.5 * (layer.mean(axis=0) @ mixed + mixed)
        layers.append(mixed)
    return np.stack(layers)[:, None].astype(np.float32)
