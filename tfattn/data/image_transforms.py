"""Changes of images that leave what they show: drawn for each image by (seed, epoch, record), on whole batches."""

from typing import Literal

import numpy as np
import tensorflow as tf

from tfattn.data.splitmix64 import integers, uniform
from tfattn.data.transforms import Transform, seeds_of
from tfattn.features import IMAGES

# Which of the independent draws of a record each of them takes.
CROP, SHIFT, FLIP, JITTER, CUTOUT, MIXUP = range(6)
NARROWEST = 3 / 4  # of a crop, its width by its height; the widest is 4 / 3
GREY = 0.5
LUMA = (0.299, 0.587, 0.114)  # how bright red, green and blue are


class ResizedCrop(Transform):
    """A random part of each image in place of the whole, resized to the same size.

    Args:
        area: the least part of the image's area; the largest is all of it.

    Source: Szegedy et al. 2015, "Going deeper with convolutions", section 6.
    """

    def __init__(self, area: float):
        self.area = area

    def __call__(self, batch, seeds):
        images = batch[IMAGES]
        drawn = uniform(seeds, 4, draw=CROP)
        area = self.area + (1.0 - self.area) * drawn[:, 0]
        shape = tf.exp((2.0 * drawn[:, 1] - 1.0) * -np.log(NARROWEST))
        height, width = (tf.minimum(tf.sqrt(part), 1.0) for part in (area / shape, area * shape))
        top, left = drawn[:, 2] * (1.0 - height), drawn[:, 3] * (1.0 - width)
        boxes = tf.stack([top, left, top + height, left + width], axis=1)
        size = images.shape[1:3]
        return {**batch, IMAGES: tf.image.crop_and_resize(images, boxes, tf.range(tf.shape(images)[0]), size)}


class Shift(Transform):
    """Each image moved by some pixels up or down, and left or right; what comes in is mirrored at the side.

    Args:
        pixels: the most in each direction.
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
    """Images mirrored, left to right: each by chance in every epoch, or by chance in the first and then in turn.

    In turn, an image is seen both ways in any two epochs that follow each other.

    Args:
        how: "random" or "alternating".

    Source: flips in turn: Jordan 2024, "94% on CIFAR-10 in 3.29 seconds on a single GPU", section 3.6.
    """

    def __init__(self, how: Literal["random", "alternating"]):
        self.how = how
        self._seed = self._epoch = 0

    def in_epoch(self, *, seed: int, epoch: int) -> "Flip":
        """Return the flips of an epoch."""
        flip = Flip(self.how)
        flip._seed, flip._epoch = seed, epoch
        return flip

    def __call__(self, batch, seeds):
        images = batch[IMAGES]
        if self.how == "alternating":
            first = uniform(seeds_of(seeds[:, 1], seed=self._seed, epoch=0), 1, draw=FLIP) < 0.5
            is_flipped = tf.not_equal(first, self._epoch % 2 == 1)
        else:
            is_flipped = uniform(seeds, 1, draw=FLIP) < 0.5
        return {**batch, IMAGES: tf.where(is_flipped[:, :, None, None], images[:, :, ::-1], images)}


class ColourJitter(Transform):
    """Each image brighter or darker, of more or less contrast, and more or less colourful.

    Args:
        strength: each of the three is multiplied by a number from 1 - strength to 1 + strength.
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
    """A grey square in each image, whose middle is anywhere in it: at the side less of it is seen.

    Args:
        side: of the square, in pixels.

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
