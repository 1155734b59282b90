"""Augmentation of batches of images, random by (seed, epoch, record)."""

from typing import Literal

import numpy as np
import tensorflow as tf

from tfattn.data.examples.transforms import Transform, epoch_key, seeds_of
from tfattn.data.splitmix64 import integers, uniform
from tfattn.features import IMAGES

# Independent random streams of a record.
CROP, SHIFT, FLIP, JITTER, CUTOUT, MIXUP, CUTMIX, MIXING, RAND_AUGMENT = range(9)
MIN_ASPECT_RATIO = 3 / 4  # width / height of a crop; the maximum is 4 / 3
GREY = 0.5
LUMA = (0.299, 0.587, 0.114)  # weights of red, green and blue in brightness


class ResizedCrop(Transform):
    """A random crop of each image, resized to the size of the image.

    Args:
        area: minimum fraction of the area of the image; the maximum is 1.

    Source: Szegedy et al. 2015, "Going deeper with convolutions", section 6.
    """

    def __init__(self, area: float):
        self.area = area

    def __call__(self, batch, seeds):
        images = batch[IMAGES]
        drawn = uniform(seeds, 4, draw=CROP)
        area = self.area + (1.0 - self.area) * drawn[:, 0]
        shape = tf.exp((2.0 * drawn[:, 1] - 1.0) * -np.log(MIN_ASPECT_RATIO))
        height, width = (tf.minimum(tf.sqrt(part), 1.0) for part in (area / shape, area * shape))
        top, left = drawn[:, 2] * (1.0 - height), drawn[:, 3] * (1.0 - width)
        boxes = tf.stack([top, left, top + height, left + width], axis=1)
        size = images.shape[1:3]
        return {**batch, IMAGES: tf.image.crop_and_resize(images, boxes, tf.range(tf.shape(images)[0]), size)}


class Shift(Transform):
    """A random translation of each image, with reflection padding.

    Args:
        pixels: maximum translation in each direction.
    """

    def __init__(self, pixels: int):
        self.pixels = pixels

    def __call__(self, batch, seeds):
        images = batch[IMAGES]
        moved = integers(seeds, 2, below=2 * self.pixels + 1, draw=SHIFT) - self.pixels
        for axis in (1, 2):
            size = images.shape[axis]
            positions = tf.abs(tf.range(size) + moved[:, axis - 1 : axis])  # (B, size)
            positions = tf.clip_by_value(size - 1 - tf.abs(size - 1 - positions), 0, size - 1)
            images = tf.gather(images, positions, axis=axis, batch_dims=1)
        return {**batch, IMAGES: images}


class Flip(Transform):
    """Horizontal flips: random in every epoch, or random in the first epoch and then alternating.

    With alternating flips, a model sees both orientations of an image in any two consecutive epochs.

    Args:
        how: "random" or "alternating".

    Source: alternating flips: Jordan 2024, "94% on CIFAR-10 in 3.29 seconds on a single GPU", section 3.6.
    """

    def __init__(self, how: Literal["random", "alternating"]):
        self.how = how
        self._seed, self._epoch = 0, tf.constant(0, tf.int64)

    def in_epoch(self, *, seed: int, epoch: tf.Tensor) -> "Flip":
        """Return the flips of an epoch."""
        flip = Flip(self.how)
        flip._seed, flip._epoch = seed, epoch
        return flip

    def __call__(self, batch, seeds):
        images = batch[IMAGES]
        if self.how == "alternating":
            first = uniform(seeds_of(seeds[:, 1], epoch_key(seed=self._seed, epoch=0)), 1, draw=FLIP) < 0.5
            is_flipped = tf.not_equal(first, tf.equal(self._epoch % 2, 1))
        else:
            is_flipped = uniform(seeds, 1, draw=FLIP) < 0.5
        return {**batch, IMAGES: tf.where(is_flipped[:, :, None, None], images[:, :, ::-1], images)}


class ColourJitter(Transform):
    """Random changes of brightness, contrast and saturation.

    Args:
        strength: each of the three is multiplied by a factor in [1 - strength, 1 + strength].
    """

    def __init__(self, strength: float):
        self.strength = strength

    def __call__(self, batch, seeds):
        factors = 1.0 + self.strength * (2.0 * uniform(seeds, 3, draw=JITTER) - 1.0)
        brightness, contrast, saturation = (factors[:, channel, None, None, None] for channel in range(3))
        images = batch[IMAGES] * brightness
        mean = tf.reduce_mean(images, axis=(1, 2, 3), keepdims=True)
        images = mean + (images - mean) * contrast
        grey = tf.reduce_sum(images * tf.constant(LUMA), axis=-1, keepdims=True)
        return {**batch, IMAGES: tf.clip_by_value(grey + (images - grey) * saturation, 0.0, 1.0)}


class Cutout(Transform):
    """A grey square in each image, with a random center; the square may extend beyond the image.

    Args:
        side: side of the square in pixels.

    Source: DeVries and Taylor 2017, "Improved regularization of convolutional neural networks with cutout".
    """

    def __init__(self, side: int):
        self.side = side

    def __call__(self, batch, seeds):
        images = batch[IMAGES]
        drawn = uniform(seeds, 2, draw=CUTOUT)
        inside = []
        for axis in (1, 2):
            size = images.shape[axis]
            begin = tf.cast(drawn[:, axis - 1 : axis] * size, tf.int32) - self.side // 2
            positions = tf.range(size)
            inside.append((positions >= begin) & (positions < begin + self.side))  # (B, size)
        is_cut = inside[0][:, :, None, None] & inside[1][:, None, :, None]
        return {**batch, IMAGES: tf.where(is_cut, GREY, images)}
