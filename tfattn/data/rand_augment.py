"""RandAugment: random geometric and color operations on images."""

import math

import tensorflow as tf

from tfattn.data.examples.transforms import Transform
from tfattn.data.image_transforms import GREY, LUMA, RAND_AUGMENT
from tfattn.data.splitmix64 import uniform
from tfattn.features import IMAGES

GEOMETRIC = ("shear_x", "shear_y", "translate_x", "translate_y", "rotate")
COLOR = ("brightness", "contrast", "saturation", "sharpness", "posterize", "solarize", "autocontrast")
OPERATIONS = ("identity", *GEOMETRIC, *COLOR)
NUM_OPERATIONS = 2  # of each image
MAX_SHEAR = 0.3
MAX_TRANSLATION = 0.3  # as a fraction of the side
MAX_ROTATION = math.radians(30)
MAX_CHANGE = 0.9  # of brightness, contrast, saturation and sharpness
MAX_LOST_BITS = 4  # of 8, by posterize


class RandAugment(Transform):
    """RandAugment: two random operations on each image, of a common magnitude and random direction.

    Args:
        magnitude: the strength of operations, above 0 and at most 1, such as 0.5.

    Source: Cubuk et al. 2020, "RandAugment: practical automated data augmentation with a reduced search space". Unlike
    in the paper, equalize is left out.
    """

    def __init__(self, magnitude: float):
        self.magnitude = magnitude

    def __call__(self, batch, seeds):
        images = batch[IMAGES]
        drawn = uniform(seeds, 2 * NUM_OPERATIONS, draw=RAND_AUGMENT)
        for index in range(NUM_OPERATIONS):
            choice = tf.cast(drawn[:, 2 * index] * len(OPERATIONS), tf.int32)
            direction = tf.where(drawn[:, 2 * index + 1] < 0.5, -1.0, 1.0)
            images = _recolored(_moved(images, choice, direction * self.magnitude), choice, direction * self.magnitude)
        return {**batch, IMAGES: images}


def _moved(images: tf.Tensor, choice: tf.Tensor, strength: tf.Tensor) -> tf.Tensor:
    """Apply the geometric operations: images (B, Y, X, 3), choice (B,) int, strength (B,) from -1 to 1."""
    height, width = images.shape[1:3]
    is_chosen = {name: tf.cast(tf.equal(choice, OPERATIONS.index(name)), tf.float32) for name in GEOMETRIC}
    angle = MAX_ROTATION * strength * is_chosen["rotate"]
    # Output pixel (x, y), relative to the center, is read at (a x + b y + c, d x + e y + f).
    a = e = tf.cos(angle)
    b = MAX_SHEAR * strength * is_chosen["shear_x"] - tf.sin(angle)
    d = MAX_SHEAR * strength * is_chosen["shear_y"] + tf.sin(angle)
    center_x, center_y = (width - 1) / 2, (height - 1) / 2
    c = center_x - a * center_x - b * center_y + MAX_TRANSLATION * width * strength * is_chosen["translate_x"]
    f = center_y - d * center_x - e * center_y + MAX_TRANSLATION * height * strength * is_chosen["translate_y"]
    zero = tf.zeros_like(a)
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=tf.stack([a, b, c, d, e, f, zero, zero], axis=1),
        output_shape=[height, width],
        interpolation="BILINEAR",
        fill_mode="CONSTANT",
        fill_value=GREY,
    )


def _recolored(images: tf.Tensor, choice: tf.Tensor, strength: tf.Tensor) -> tf.Tensor:
    """Apply the color operations: images (B, Y, X, 3), choice (B,) int, strength (B,) from -1 to 1."""
    strength = strength[:, None, None, None]
    factor, magnitude = 1.0 + MAX_CHANGE * strength, tf.abs(strength)
    grey = tf.reduce_sum(images * tf.constant(LUMA), axis=-1, keepdims=True)
    low, high = (reduce(images, axis=(1, 2), keepdims=True) for reduce in (tf.reduce_min, tf.reduce_max))
    levels = tf.pow(2.0, 8.0 - tf.round(MAX_LOST_BITS * magnitude))
    results = {
        "brightness": images * factor,
        "contrast": _blended(tf.reduce_mean(grey, axis=(1, 2), keepdims=True), images, factor),
        "saturation": _blended(grey, images, factor),
        "sharpness": _blended(tf.nn.avg_pool2d(images, 3, 1, "SAME"), images, factor),
        "posterize": tf.floor(images * 255.0 / 256.0 * levels) / levels,
        "solarize": tf.where(images >= 1.0 - magnitude, 1.0 - images, images),
        "autocontrast": (images - low) / tf.maximum(high - low, 1e-3),
    }
    for name in COLOR:
        is_chosen = tf.equal(choice, OPERATIONS.index(name))[:, None, None, None]
        images = tf.where(is_chosen, tf.clip_by_value(results[name], 0.0, 1.0), images)
    return images


def _blended(degenerate: tf.Tensor, images: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    """Return the images where the factor is 1, the degenerate images where it is 0."""
    return degenerate + (images - degenerate) * factor
