"""Decoding and resizing of images in the graph."""

from typing import Literal

import tensorflow as tf

from tfattn.formats.images import MAX_BYTES, READ

Fit = Literal["crop", "pad", "squash"]
_HEAD = 32  # bytes, which have the image size in all formats but JPEG
_PNG, _JPEG, _GIF = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8"
_WHITE = 255.0


def decode_image(data: tf.Tensor, name: tf.Tensor, *, max_side: int) -> tf.Tensor:
    """Decode an image: red, green and blue of each pixel, (Y, X, 3) uint8.

    Grayscale and CMYK are converted to RGB, 16 bits are cut to 8, transparent pixels become white, and only the first
    frame is read. The size in the header is checked before decoding.

    Args:
        data: the bytes of a JPEG, PNG, GIF or BMP.
        name: the name of the image in messages.
        max_side: the maximum height or width in pixels.

    Raises, as the graph runs:
        tf.errors.InvalidArgumentError: the image is damaged, too large or no image.
    """
    head = tf.strings.join([tf.strings.substr(data, 0, _HEAD), tf.constant(b"\0" * _HEAD)])
    is_png, is_jpeg, is_gif = (_starts_with(head, start) for start in (_PNG, _JPEG, _GIF))
    is_known = is_png | is_jpeg | is_gif | _starts_with(head, b"BM")
    size_is_right = tf.strings.length(data) <= MAX_BYTES
    with tf.control_dependencies(
        [
            tf.debugging.Assert(is_known, [tf.strings.join([name, f" is no {READ}"])]),
            tf.debugging.Assert(size_is_right, [tf.strings.join([name, f" has more than {MAX_BYTES:,} bytes"])]),
        ]
    ):
        data, head = tf.identity(data), tf.identity(head)
    sides = tf.case(
        [
            (is_jpeg, lambda: tf.cast(tf.image.extract_jpeg_shape(data)[:2], tf.int64)),
            (is_png, lambda: tf.stack([_number(head, 20, "big"), _number(head, 16, "big")])),
            (is_gif, lambda: tf.stack([_number(head, 8, "little", 2), _number(head, 6, "little", 2)])),
        ],
        default=lambda: tf.abs(tf.stack([_signed(_number(head, 22, "little")), _signed(_number(head, 18, "little"))])),
    )
    message = [name, " has sides of more than ", f"{max_side:,} pixels"]
    with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(sides <= max_side), [tf.strings.join(message)])]):
        data = tf.identity(data)
    return tf.case(
        [
            (is_jpeg, lambda: tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")),
            (is_png, lambda: _on_white(tf.io.decode_png(data, channels=4), _number(head, 24, "big", 1))),
        ],
        default=lambda: tf.io.decode_image(data, channels=3, expand_animations=False),
    )


def resize_image(pixels: tf.Tensor, size: tuple[int, int], fit: Fit) -> tf.Tensor:
    """Resize an image: (y, x, 3) to (Y, X, 3), uint8; an image of this size is unchanged.

    Args:
        pixels: the pixels of the image.
        size: Y and X.
        fit: "crop" takes the largest centered part, "pad" adds black borders, "squash" changes the aspect ratio.
    """
    wanted = tf.constant(size)
    given = tf.shape(pixels)[:2]
    fit_to = {"crop": _cropped, "pad": _padded, "squash": _resized}[fit]
    resized = tf.cond(tf.reduce_all(given == wanted), lambda: pixels, lambda: fit_to(pixels, given, wanted))
    return tf.ensure_shape(resized, (*size, 3))


def _cropped(pixels: tf.Tensor, given: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    # Crop before resizing: a strip of one pixel's width would become enormous.
    ratio = tf.reduce_min(tf.cast(given, tf.float64) / tf.cast(wanted, tf.float64))
    part = tf.clip_by_value(tf.cast(tf.round(ratio * tf.cast(wanted, tf.float64)), tf.int32), 1, given)
    start = (given - part) // 2
    return _resized(pixels[start[0] : start[0] + part[0], start[1] : start[1] + part[1]], part, wanted)


def _padded(pixels: tf.Tensor, given: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    ratio = tf.reduce_min(tf.cast(wanted, tf.float64) / tf.cast(given, tf.float64))
    part = tf.clip_by_value(tf.cast(tf.round(ratio * tf.cast(given, tf.float64)), tf.int32), 1, wanted)
    before = (wanted - part) // 2
    missing = tf.concat([tf.stack([before, wanted - part - before], axis=1), [[0, 0]]], axis=0)
    return tf.pad(_resized(pixels, given, part), missing)


def _resized(pixels: tf.Tensor, given: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    values = tf.image.resize(pixels, wanted, antialias=True)
    return tf.cast(tf.clip_by_value(tf.round(values), 0.0, 255.0), tf.uint8)


def _on_white(pixels: tf.Tensor, bits: tf.Tensor) -> tf.Tensor:
    """Blend the pixels (Y, X, 4) of a PNG with the given bit depth with white: (Y, X, 3)."""
    # Below 8 bits, TensorFlow sets the alpha of opaque images to the highest value of the bit depth.
    opaque = tf.cast(tf.bitwise.left_shift(tf.constant(1, tf.int64), tf.minimum(bits, 8)) - 1, tf.uint8)
    alpha = tf.where(tf.equal(pixels[..., 3:], opaque), 1.0, tf.cast(pixels[..., 3:], tf.float32) / 255.0)
    return tf.cast(tf.round(tf.cast(pixels[..., :3], tf.float32) * alpha + _WHITE * (1.0 - alpha)), tf.uint8)


def _starts_with(head: tf.Tensor, start: bytes) -> tf.Tensor:
    return tf.strings.substr(head, 0, len(start)) == start


def _number(head: tf.Tensor, at: int, order: Literal["big", "little"], count: int = 4) -> tf.Tensor:
    """Read an integer of `count` bytes: () int64."""
    read = tf.cast(tf.io.decode_raw(tf.strings.substr(head, at, count), tf.uint8), tf.int64)
    weights = [256**index for index in range(count)]
    return tf.reduce_sum(read * tf.constant(weights if order == "little" else weights[::-1], tf.int64))


def _signed(number: tf.Tensor) -> tf.Tensor:
    return tf.where(number < 2**31, number, number - 2**32)
