"""Validation of image files; damaged images are skipped or refused."""

from typing import Literal

import tensorflow as tf

from tfattn.errors import DataError
from tfattn.features import IMAGE
from tfattn.formats.images import MAX_BYTES, check_image

Damaged = Literal["refuse", "leave_out"]


class ImageReader:
    """Validation of the bytes of images.

    Args:
        damaged: "refuse" raises an error at the first image that cannot be decoded; "leave_out" skips and counts such
            images.
        max_side: maximum height and width in pixels; larger images are refused by their header, before decoding.
    """

    def __init__(self, *, damaged: Damaged, max_side: int):
        self.damaged = damaged
        self.max_side = max_side

    def checked(self, data: bytes | DataError, where: str) -> bytes | None:
        """Return the bytes of an image; None for an image that is left out.

        Args:
            data: the bytes of the file, or the error of reading it.
            where: path of the file, for messages.

        Raises:
            DataError: the image cannot be decoded, and `damaged` is "refuse".
        """
        try:
            if isinstance(data, DataError):
                raise data
            check_image(data, where, max_side=self.max_side)
            _check_pixels(data, where)
        except DataError:
            if self.damaged == "leave_out":
                return None
            raise
        return data


def too_large(where: str, size: int) -> DataError:
    """Create the error of a file that is too large."""
    return DataError(
        "the file is too large for an image",
        where=where,
        expected=f"at most {MAX_BYTES:,} bytes",
        received=f"{size:,}",
        remedy="Make it smaller.",
    )


def _check_pixels(data: bytes, where: str) -> None:
    try:
        tf.io.decode_image(data, expand_animations=False)
    except tf.errors.InvalidArgumentError as error:
        raise DataError(
            "the image is damaged",
            where=where,
            expected=f"the `{IMAGE}` whole",
            received=f"one of {len(data):,} bytes that cannot be decoded ({_reason(error)})",
            remedy="Fetch it again or remove it; `damaged: leave_out` goes on without such images.",
        ) from None


def _reason(error: tf.errors.OpError) -> str:
    """Extract the reason from an error of TensorFlow, without locations in its source code."""
    return error.message.partition("{{")[2].partition("}}")[2].partition(" [Op:")[0].strip() or error.message[:80]
