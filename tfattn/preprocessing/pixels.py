"""From the bytes of an image to pixels of a given size, in the graph: the same in training as inside the export."""

from typing import Literal

import tensorflow as tf

from tfattn.formats.images import LARGEST, READ

Fit = Literal["crop", "pad", "squash"]
_HEAD = 32  # bytes, in which all headers but JPEG's say the size
_PNG, _JPEG, _GIF = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8"
_WHITE = 255.0


def decoded(data: tf.Tensor, name: tf.Tensor, *, max_side: int) -> tf.Tensor:
    """Decode an image: red, green and blue of each pixel, (Y, X, 3) uint8.

    Grey is given three times, four colours of print are made three, 16 bits are cut to 8, what is transparent shows
    white, and of several frames the first is read. Nothing is decoded before its header has said how large it is.

    Args:
        data: the bytes of a JPEG, PNG, GIF or BMP.
        name: what it is called in messages.
        max_side: the most pixels of its height or width.

    Raises, as the graph runs:
        tf.errors.InvalidArgumentError: it is no image, too large, or damaged.
    """
    head = tf.strings.join([tf.strings.substr(data, 0, _HEAD), tf.constant(b"\0" * _HEAD)])
    is_png, is_jpeg, is_gif = (_begins(head, start) for start in (_PNG, _JPEG, _GIF))
    is_known = is_png | is_jpeg | is_gif | _begins(head, b"BM")
    size_is_right = tf.strings.length(data) <= LARGEST
    with tf.control_dependencies(
        [
            tf.debugging.Assert(is_known, [tf.strings.join([name, f" is no {READ}"])]),
            tf.debugging.Assert(size_is_right, [tf.strings.join([name, f" has more than {LARGEST:,} bytes"])]),
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
    said = [name, " has sides of more than ", f"{max_side:,} pixels"]
    with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(sides <= max_side), [tf.strings.join(said)])]):
        data = tf.identity(data)
    return tf.case(
        [
            (is_jpeg, lambda: tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")),
            (is_png, lambda: _on_white(tf.io.decode_png(data, channels=4), _number(head, 24, "big", 1))),
        ],
        default=lambda: tf.io.decode_image(data, channels=3, expand_animations=False),
    )


def fitted(pixels: tf.Tensor, size: tuple[int, int], fit: Fit) -> tf.Tensor:
    """Fit an image into a size: (y, x, 3) to (Y, X, 3), uint8; one that has it already stays as it is.

    Args:
        pixels: of the image.
        size: Y and X.
        fit: "crop" takes the largest part of that shape from its middle, "pad" fills up the missing sides with black,
            "squash" lets its shape go.
    """
    wanted = tf.constant(size)
    given = tf.shape(pixels)[:2]
    fit_to = {"crop": _cropped, "pad": _padded, "squash": _resized}[fit]
    same = tf.cond(tf.reduce_all(given == wanted), lambda: pixels, lambda: fit_to(pixels, given, wanted))
    return tf.ensure_shape(same, (*size, 3))


def _cropped(pixels: tf.Tensor, given: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    # Cut before it is resized: a strip of one pixel's width would else become enormous.
    ratio = tf.reduce_min(tf.cast(given, tf.float64) / tf.cast(wanted, tf.float64))
    part = tf.clip_by_value(tf.cast(tf.round(ratio * tf.cast(wanted, tf.float64)), tf.int32), 1, given)
    begin = (given - part) // 2
    return _resized(pixels[begin[0] : begin[0] + part[0], begin[1] : begin[1] + part[1]], part, wanted)


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
    """Put the pixels (Y, X, 4) of a PNG of so many bits on white: (Y, X, 3)."""
    # Of fewer than 8 bits TensorFlow fills in their highest number where nothing is transparent.
    opaque = tf.cast(tf.bitwise.left_shift(tf.constant(1, tf.int64), tf.minimum(bits, 8)) - 1, tf.uint8)
    alpha = tf.where(tf.equal(pixels[..., 3:], opaque), 1.0, tf.cast(pixels[..., 3:], tf.float32) / 255.0)
    return tf.cast(tf.round(tf.cast(pixels[..., :3], tf.float32) * alpha + _WHITE * (1.0 - alpha)), tf.uint8)


def _begins(head: tf.Tensor, start: bytes) -> tf.Tensor:
    return tf.strings.substr(head, 0, len(start)) == start


def _number(head: tf.Tensor, at: int, order: Literal["big", "little"], count: int = 4) -> tf.Tensor:
    """Read a whole number of so many bytes: () int64."""
    read = tf.cast(tf.io.decode_raw(tf.strings.substr(head, at, count), tf.uint8), tf.int64)
    places = [256**place for place in range(count)]
    return tf.reduce_sum(read * tf.constant(places if order == "little" else places[::-1], tf.int64))


def _signed(number: tf.Tensor) -> tf.Tensor:
    return tf.where(number < 2**31, number, number - 2**32)
