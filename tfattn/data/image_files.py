"""How every image is read: whole, checked, and left out or refused where it is damaged."""

from typing import Literal

import tensorflow as tf

from tfattn.errors import DataError
from tfattn.features import IMAGE
from tfattn.formats.images import LARGEST, check_image

Damaged = Literal["refuse", "leave_out"]


class ImageReader:
    """Checks the bytes of images.

    Args:
        damaged: "refuse" ends with the path of the first image that cannot be decoded; "leave_out" goes on without such
            images, and they are counted.
        max_side: the most pixels of a height or width; a larger image is refused by its header, before it is decoded.
    """

    def __init__(self, *, damaged: Damaged, max_side: int):
        self.damaged = damaged
        self.max_side = max_side

    def checked(self, data: bytes | DataError, where: str) -> bytes | None:
        """Return the bytes of an image; None for one that is left out.

        Args:
            data: of the whole file, or why there are none.
            where: its path, for messages.

        Raises:
            DataError: it cannot be decoded, and such images are refused.
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
    """Make the error of a file that is too large to be read at once."""
    return DataError(
        "the file is too large for an image",
        where=where,
        expected=f"at most {LARGEST:,} bytes",
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
            received=f"one of {len(data):,} bytes that cannot be decoded ({_said(error)})",
            remedy="Fetch it again or remove it; `damaged: leave_out` goes on without such images.",
        ) from None


def _said(error: tf.errors.OpError) -> str:
    """Extract what TensorFlow says, without the places in its code."""
    return error.message.partition("{{")[2].partition("}}")[2].partition(" [Op:")[0].strip() or error.message[:80]
