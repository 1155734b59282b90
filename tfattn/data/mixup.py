"""MixUp augmentation of images and labels."""

import numpy as np
import tensorflow as tf

from tfattn.data.examples.transforms import Transform
from tfattn.data.image_transforms import MIXUP
from tfattn.data.splitmix64 import uniform
from tfattn.features import IMAGES, LABEL_IDS, MIXED_LABEL_IDS, MIXED_SHARES

_POINTS = 4096  # size of the quantile table of shares


class MixUp(Transform):
    """MixUp: a weighted sum of each image and its partner in the batch.

    The weight of the image is at least 0.5. The weight of the partner is a target, and the loss is the weighted sum of
    the losses of both labels. Partners do not depend on how the batch is divided among replicas.

    Args:
        alpha: weights are sampled from Beta(alpha, alpha); larger values mix more evenly.

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
    """Tabulate the quantiles of the smaller weight: (_POINTS,) float32, at most 0.5."""
    # The grid is logarithmic, because the distribution function may be very steep close to 0.
    grid = np.concatenate([[0.0], np.geomspace(1e-12, 0.5, 4 * _POINTS)])
    below = 2.0 * tf.math.betainc(np.float64(alpha), np.float64(alpha), tf.constant(grid)).numpy()
    return np.interp((np.arange(_POINTS) + 0.5) / _POINTS, below, grid).astype(np.float32)
