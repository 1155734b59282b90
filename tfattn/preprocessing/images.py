"""Images of one size, from the bytes of files of any."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tensorflow as tf
from pydantic import Field, PositiveInt
from typing_extensions import TypedDict

from tfattn import files
from tfattn.features import IMAGE, IMAGES
from tfattn.formats.images import LONGEST_SIDE
from tfattn.preprocessing.pixels import Fit, decoded, fitted
from tfattn.preprocessing.preprocessor import Preprocessor

_SAVED = "images.json"
Kept = Literal["pixels", "files"]


class Saved(TypedDict):
    """The content of images.json: the settings."""

    size: list[int]
    fit: Fit
    max_side: int


class Images(Preprocessor):
    """Images (B, Y, X, 3) float32 from 0 to 1, from the bytes of JPEG, PNG, GIF or BMP files of any size.

    Grey is given three times, four colours of print (CMYK) are made three, 16 bits are cut to 8, what is transparent
    shows white, and of several frames the first is read. How a camera was held (EXIF) is not looked at.

    Args:
        size: the side of the images in pixels, or [Y, X] where these differ.
        fit: how an image of another shape is made to fit: "crop" takes the largest part of that shape from its middle,
            "pad" fills up the missing sides with black, "squash" lets its shape go. It is then resized, and small parts
            are averaged.
        keep: what records hold. "pixels" are decoded once, and fastest to read; 224 x 224 of them take 150 kB. "files"
            are as they came, and decoded as they are read, which takes as long each time.
        max_side: the most pixels of an image's height or width. A larger one is refused by its header, before it is
            decoded: one request could else take all memory.

    Example:
        images = Images(size=32)
        images({"image": tf.constant([Path("cat.jpg").read_bytes()])})["images"]  # (1, 32, 32, 3) float32
    """

    fields = file_fields = (IMAGE,)

    def __init__(
        self,
        *,
        size: PositiveInt | Annotated[list[PositiveInt], Field(min_length=2, max_length=2)],
        fit: Fit = "crop",
        keep: Kept = "pixels",
        max_side: PositiveInt = LONGEST_SIDE,
    ):
        super().__init__()
        self.size = size
        self.fit_to = fit
        self.keep = keep
        self.max_side = max_side
        self._pixels = tf.function(self._decoded, autograph=False, reduce_retracing=True)

    @property
    def height_and_width(self) -> tuple[int, int]:
        """Y and X."""
        return (self.size, self.size) if isinstance(self.size, int) else tuple(self.size)

    @property
    def sizes(self) -> dict[str, Any]:
        """The side, or [Y, X], as `image_size`."""
        height, width = self.height_and_width
        return {"image_size": height if height == width else [height, width]}

    def fit(self, rows: Iterable[dict[str, Any]]) -> None:
        """Learn nothing."""

    def save(self, folder: Path) -> None:
        """Write images.json, the settings."""
        saved = {"size": list(self.height_and_width), "fit": self.fit_to, "max_side": self.max_side}
        files.write_json(Path(folder) / _SAVED, saved)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; the saved settings replace those of the constructor.

        Raises:
            DataError: the file is missing or damaged.
        """
        saved = files.read_json(Path(folder) / _SAVED, Saved, remedy="Prepare the data again.")
        self.size, self.fit_to, self.max_side = saved["size"], saved["fit"], saved["max_side"]

    def pixels(self, images: tf.Tensor) -> tf.Tensor:
        """Decode images and fit them: (B,) strings to (B, Y, X, 3) uint8.

        Raises, as the graph runs:
            tf.errors.InvalidArgumentError: one is no image or too large, by its number from 1; or it is damaged.
        """
        return self._pixels(images)

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Make images of files.

        Args:
            fields: `image`, (B,) strings: the bytes of each file.

        Returns:
            `images` (B, Y, X, 3) float32, from 0 to 1.
        """
        return {IMAGES: as_images(self.pixels(fields[IMAGE]))}

    def to_records(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return `images` (B,) strings: the bytes of the pixels, or of the files, as `keep` says."""
        if self.keep == "files":
            return {IMAGES: fields[IMAGE]}
        pixels = self.pixels(fields[IMAGE]).numpy()
        return {IMAGES: tf.constant([one.tobytes() for one in pixels])}

    def from_records(self, features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return `images` (B, Y, X, 3) as `__call__` does."""
        if self.keep == "files":
            return {**features, **self({IMAGE: features[IMAGES]})}
        pixels = tf.reshape(tf.io.decode_raw(features[IMAGES], tf.uint8), (-1, *self.height_and_width, 3))
        return {**features, IMAGES: as_images(pixels)}

    def _decoded(self, images: tf.Tensor) -> tf.Tensor:
        def of_one(numbered: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
            number, data = numbered
            name = tf.strings.join(["image ", tf.strings.as_string(number)])
            return fitted(decoded(data, name, max_side=self.max_side), self.height_and_width, self.fit_to)

        numbers = tf.range(1, tf.size(images) + 1)
        spec = tf.TensorSpec((*self.height_and_width, 3), tf.uint8)
        return tf.map_fn(of_one, (numbers, images), fn_output_signature=spec)


def as_images(pixels: Any) -> tf.Tensor:
    """Scale pixels, uint8, to what models read: float32 from 0 to 1."""
    # Not divided: graphs that were saved multiply, and would differ in the last bit.
    return tf.cast(pixels, tf.float32) * np.float32(1.0 / 255.0)
