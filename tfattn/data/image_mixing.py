"""MixUp and CutMix: augmentation of images and labels in pairs."""

import numpy as np
import tensorflow as tf

from tfattn.data.examples.transforms import Transform
from tfattn.data.image_transforms import CUTMIX, MIXING, MIXUP
from tfattn.data.splitmix64 import uniform
from tfattn.features import IMAGES, LABEL_IDS, MIXED_LABEL_IDS, MIXED_SHARES

_POINTS = 4096  # size of the quantile tables of shares


class ImageMixing(Transform):
    """MixUp or CutMix of each image with its partner in the batch.

    MixUp computes a weighted sum of both images, in which the weight of the partner is at most 0.5. CutMix replaces a
    rectangle of the image by the same rectangle of the partner. With both, a coin decides for each image. The share of
    the partner is a target, and the loss is the weighted sum of the losses of both labels. Partners do not depend on
    how the batch is divided among replicas.

    Args:
        mixup: the shares of MixUp are sampled from Beta(mixup, mixup); larger values mix more evenly. None for none.
        cutmix: the areas of CutMix are sampled from Beta(cutmix, cutmix). None for none.

    Source: Zhang et al. 2018, "mixup: Beyond empirical risk minimization"; Yun et al. 2019, "CutMix: Regularization
    strategy to train strong classifiers with localizable features", section 3.1.
    """

    targets = (MIXED_LABEL_IDS, MIXED_SHARES)
    reads_partners = True

    def __init__(self, *, mixup: float | None = None, cutmix: float | None = None):
        self._mixup = None if mixup is None else _quantiles(mixup)
        self._cutmix = None if cutmix is None else _quantiles(cutmix)

    def __call__(self, batch, seeds):
        (own, other), (labels, others) = (tf.split(batch[name], 2) for name in (IMAGES, LABEL_IDS))
        seeds = seeds[: tf.shape(labels)[0]]
        if self._cutmix is None:
            images, share = self._mix(own, other, seeds)
        elif self._mixup is None:
            images, share = self._cut(own, other, seeds)
        else:
            (mixed, share_mixed), (cut, share_cut) = self._mix(own, other, seeds), self._cut(own, other, seeds)
            is_cut = uniform(seeds, 1, draw=MIXING)[:, 0] < 0.5
            images = tf.where(is_cut[:, None, None, None], cut, mixed)
            share = tf.where(is_cut, share_cut, share_mixed)
        first = {name: value[: tf.shape(labels)[0]] for name, value in batch.items()}
        return {**first, IMAGES: images, MIXED_LABEL_IDS: others, MIXED_SHARES: share}

    def _mix(self, own: tf.Tensor, other: tf.Tensor, seeds: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        share = _sample(self._mixup, uniform(seeds, 1, draw=MIXUP)[:, 0])
        return own + (other - own) * share[:, None, None, None], share

    def _cut(self, own: tf.Tensor, other: tf.Tensor, seeds: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        drawn = uniform(seeds, 4, draw=CUTMIX)
        smaller = _sample(self._cutmix, drawn[:, 0])
        side = tf.sqrt(tf.where(drawn[:, 1] < 0.5, smaller, 1.0 - smaller))  # as a fraction of height and width
        inside = []
        for axis in (1, 2):
            size = own.shape[axis]
            start = (drawn[:, axis + 1] - side / 2) * size
            pixels = tf.range(size, dtype=tf.float32) + 0.5
            inside.append((pixels >= start[:, None]) & (pixels < (start + side * size)[:, None]))  # (B, size)
        is_cut = inside[0][:, :, None] & inside[1][:, None, :]
        share = tf.reduce_mean(tf.cast(is_cut, tf.float32), axis=(1, 2))  # the rectangle may extend beyond the image
        return tf.where(is_cut[..., None], other, own), share


def _sample(quantiles: np.ndarray, drawn: tf.Tensor) -> tf.Tensor:
    return tf.gather(tf.constant(quantiles), tf.cast(drawn * _POINTS, tf.int32))


def _quantiles(alpha: float) -> np.ndarray:
    """Tabulate the quantiles of the smaller of a share and its rest: (_POINTS,) float32, at most 0.5."""
    # The grid is logarithmic, because the distribution function may be very steep close to 0.
    grid = np.concatenate([[0.0], np.geomspace(1e-12, 0.5, 4 * _POINTS)])
    below = 2.0 * tf.math.betainc(np.float64(alpha), np.float64(alpha), tf.constant(grid)).numpy()
    return np.interp((np.arange(_POINTS) + 0.5) / _POINTS, below, grid).astype(np.float32)
