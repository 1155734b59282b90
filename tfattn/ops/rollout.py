"""Attention rollout."""

import numpy as np


def rollout(weights: np.ndarray) -> np.ndarray:
    """Multiply the attention of layers, to estimate the contribution of each input token to each vector.

    Every layer is the mean of its heads, averaged with the identity for the residual connection.

    Args:
        weights: (L, H, T, T), the weights of causal or bidirectional self-attention; each row sums to 1.

    Returns:
        (L, 1, T, T) float32, the rollout after each layer; each row sums to 1.

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
