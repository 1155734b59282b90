"""Preprocessing of image files to images of a fixed size."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tensorflow as tf
from pydantic import Field, PositiveInt
from typing_extensions import TypedDict

from tfattn import files
from tfattn.features import IMAGE, IMAGES
from tfattn.formats.images import MAX_SIDE
from tfattn.preprocessing.pixels import Fit, decode_image, resize_image
from tfattn.preprocessing.preprocessor import Preprocessor

_SAVED = "images.json"
RecordFormat = Literal["pixels", "files"]


class Saved(TypedDict):
    """The content of images.json: the settings."""

    size: list[int]
    fit: Fit
    max_side: int


class Images(Preprocessor):
    """Preprocessor of JPEG, PNG, GIF or BMP files to images (B, Y, X, 3) float32 from 0 to 1.

    Grayscale and CMYK are converted to RGB, 16 bits are cut to 8, transparent pixels become white, and only the first
    frame is read. The EXIF orientation is ignored.

    Args:
        size: the side of the images in pixels, or [Y, X].
        fit: how images of another aspect ratio are resized: "crop" takes the largest centered part, "pad" adds black
            borders, "squash" changes the aspect ratio. Downsampling is antialiased.
        keep: the content of records. "pixels" are decoded once and are the fastest to read; 224 x 224 pixels take
            150 kB. "files" are stored unchanged and decoded at each read.
        max_side: the maximum height or width of an image in pixels. A larger image is refused by its header, before it
            is decoded, because a single request could take all memory.

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
        keep: RecordFormat = "pixels",
        max_side: PositiveInt = MAX_SIDE,
    ):
        super().__init__()
        self.size = size
        self.fit_to = fit
        self.keep = keep
        self.max_side = max_side
        self._pixels = tf.function(self._decode, autograph=False, reduce_retracing=True)

    @property
    def height_and_width(self) -> tuple[int, int]:
        """The height Y and the width X."""
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
        """Read what `save` wrote; the saved settings replace the arguments of the constructor.

        Raises:
            DataError: the file is missing or damaged.
        """
        saved = files.read_json(Path(folder) / _SAVED, Saved, remedy="Prepare the data again.")
        self.size, self.fit_to, self.max_side = saved["size"], saved["fit"], saved["max_side"]

    def pixels(self, images: tf.Tensor) -> tf.Tensor:
        """Decode and resize images: (B,) strings to (B, Y, X, 3) uint8.

        Raises, as the graph runs:
            tf.errors.InvalidArgumentError: an image is damaged, too large or no image; names its number, from 1.
        """
        return self._pixels(images)

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Decode files to images.

        Args:
            fields: `image`, (B,) strings: the bytes of each file.

        Returns:
            `images` (B, Y, X, 3) float32, from 0 to 1.
        """
        return {IMAGES: scale_pixels(self.pixels(fields[IMAGE]))}

    def to_records(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return `images` (B,) strings: the bytes of the pixels, or of the files, see `keep`."""
        if self.keep == "files":
            return {IMAGES: fields[IMAGE]}
        pixels = self.pixels(fields[IMAGE]).numpy()
        return {IMAGES: tf.constant([image.tobytes() for image in pixels])}

    def from_records(self, features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return `images` (B, Y, X, 3) as `__call__` does."""
        if self.keep == "files":
            return {**features, **self({IMAGE: features[IMAGES]})}
        pixels = tf.reshape(tf.io.decode_raw(features[IMAGES], tf.uint8), (-1, *self.height_and_width, 3))
        return {**features, IMAGES: scale_pixels(pixels)}

    def _decode(self, images: tf.Tensor) -> tf.Tensor:
        def decode(numbered: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
            number, data = numbered
            name = tf.strings.join(["image ", tf.strings.as_string(number)])
            return resize_image(decode_image(data, name, max_side=self.max_side), self.height_and_width, self.fit_to)

        numbers = tf.range(1, tf.size(images) + 1)
        spec = tf.TensorSpec((*self.height_and_width, 3), tf.uint8)
        return tf.map_fn(decode, (numbers, images), fn_output_signature=spec)


def scale_pixels(pixels: Any) -> tf.Tensor:
    """Scale uint8 pixels to float32 from 0 to 1."""
    # Multiply, not divide: saved graphs multiply, and a division differs in the last bit.
    return tf.cast(pixels, tf.float32) * np.float32(1.0 / 255.0)
