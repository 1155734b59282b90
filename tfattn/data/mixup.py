"""Mixtures of two images and of what they show."""

import numpy as np
import tensorflow as tf

from tfattn.data.image_transforms import MIXUP
from tfattn.data.splitmix64 import uniform
from tfattn.data.transforms import Transform
from tfattn.features import IMAGES, LABEL_IDS, MIXED_LABEL_IDS, MIXED_SHARES

_POINTS = 4096  # of the table from which shares are read


class MixUp(Transform):
    """Each image mixed with its partner in the batch, in a proportion of its own.

    The share of the image itself is at least a half, and the other's goes into the targets: the loss is that of both
    labels, by their shares. How the batch is divided makes no difference to who is whose partner.

    Args:
        alpha: shares are drawn from Beta(alpha, alpha); the larger, the more images are mixed half and half.

    Source: Zhang et al. 2018, "mixup: Beyond empirical risk minimization".
    """

    targets = (MIXED_LABEL_IDS, MIXED_SHARES)
    reads_partners = True

    def __init__(self, alpha: float):
        self.alpha = alpha
        self._quantiles = _quantiles(alpha)

    def __call__(self, batch, seeds):
        (own, other), (labels, others) = (tf.split(batch[name], 2) for name in (IMAGES, LABEL_IDS))
        count = tf.shape(labels)[0]
        indices = tf.cast(uniform(seeds, 1, draw=MIXUP)[:count, 0] * _POINTS, tf.int32)
        share = tf.gather(tf.constant(self._quantiles), indices)
        mixed = own + (other - own) * share[:, None, None, None]
        first = {name: value[:count] for name, value in batch.items()}
        return {**first, IMAGES: mixed, MIXED_LABEL_IDS: others, MIXED_SHARES: share}


def _quantiles(alpha: float) -> np.ndarray:
    """Tabulate the smaller of the two shares at evenly spaced probabilities: (_POINTS,) float32, up to a half."""
    # Close to 0 the distribution function may rise as steeply as its logarithm: the grid is as fine there.
    grid = np.concatenate([[0.0], np.geomspace(1e-12, 0.5, 4 * _POINTS)])
    below = 2.0 * tf.math.betainc(np.float64(alpha), np.float64(alpha), tf.constant(grid)).numpy()
    return np.interp((np.arange(_POINTS) + 0.5) / _POINTS, below, grid).astype(np.float32)
