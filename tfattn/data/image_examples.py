"""Images as examples: what records hold of them, and how they are read."""

from collections.abc import Iterator, Sequence

import tensorflow as tf

from tfattn.data.encoding import Feature
from tfattn.data.examples import Drawing, Example, Examples, fields_of
from tfattn.data.targets import Target
from tfattn.data.transforms import Transform
from tfattn.errors import ConfigError
from tfattn.features import IMAGE, IMAGES
from tfattn.formats.source import Row
from tfattn.preprocessing.images import Images, as_images
from tfattn.preprocessing.preprocessor import Preprocessor


class ImageExamples(Examples):
    """Makes an example of each image: its pixels, or the bytes of its file, as `preprocessing.keep` says."""

    file_roles = (IMAGE,)
    made_of = "images"

    def require(self, preprocessor: Preprocessor) -> None:
        """Refuse a preprocessor that reads no images."""
        if not isinstance(preprocessor, Images):
            raise ConfigError(
                "images are read, not texts or tables",
                key="preprocessing",
                expected="images",
                received=type(preprocessor).__name__,
            )

    def features(self, row: Row, preprocessor: Images, targets: Target) -> dict[str, Feature]:
        return {IMAGES: Feature("bytes"), **targets.features}

    def of(self, rows: Sequence[Row], preprocessor: Images, targets: Target, drawing: Drawing) -> Iterator[Example]:
        files = fields_of(rows, preprocessor)[IMAGE]
        stored = files if preprocessor.keep == "files" else preprocessor.pixels(files)
        for place, (row, one) in enumerate(zip(rows, stored.numpy(), strict=True)):
            data = one if preprocessor.keep == "files" else one.tobytes()
            yield Example(place, {IMAGES: data, **targets.encode(row)})

    def decoders(self, preprocessor: Images) -> Sequence[Transform]:
        return [Decoded(preprocessor) if preprocessor.keep == "files" else Scaled(preprocessor.height_and_width)]


class Decoded(Transform):
    """Files decoded as they are read.

    Args:
        preprocessor: decodes them.
    """

    def __init__(self, preprocessor: Images):
        self.preprocessor = preprocessor

    def __call__(self, batch, seeds):
        return {**batch, **self.preprocessor({IMAGE: batch[IMAGES]})}


class Scaled(Transform):
    """Stored pixels as models read them.

    Args:
        height_and_width: Y and X.
    """

    def __init__(self, height_and_width: tuple[int, int]):
        self.shape = (-1, *height_and_width, 3)

    def __call__(self, batch, seeds):
        return {**batch, IMAGES: as_images(tf.reshape(tf.io.decode_raw(batch[IMAGES], tf.uint8), self.shape))}
