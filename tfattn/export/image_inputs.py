"""Images, as requests hold them: the bytes of their files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfattn.export.served import Columns
from tfattn.export.served_rows import Features, Inputs, ServedRows
from tfattn.export.table_inputs import WARM_UP_ROWS
from tfattn.features import ENCODED, IMAGE, IMAGES
from tfattn.formats.images import LARGEST
from tfattn.trained.ensemble import TrainedEnsemble

CLASS_TOKEN = "[CLS]"


class ImageInputs(Inputs):
    """The bytes of JPEG, PNG, GIF or BMP files, `image` (B,) string; in JSON {"b64": "..."}. And one more signature.

        features   as serving_default -> encoded (B, D) float32, what the head reads; of several members, one after the
                   other

    Images are decoded, made to fit and scaled in the graph, as they were in training. What is no image, or larger than
    the preprocessing allows, is refused by its header with its number, from 1, before anything of it is decoded. One
    that is damaged further on fails as it is decoded, and the request with it; a server then tries the others alone.

    Where attention is shown, its tokens are patches, `grid` (B, 2) int32 has their rows and columns, and `image_bytes`
    (B,) string is a PNG file of each image as the model sees it.

    Args:
        ensemble: the trained models, which read images of the same size.
    """

    names = (IMAGE,)

    def __init__(self, ensemble: TrainedEnsemble):
        self.preprocessors = ensemble.preprocessors[:1]  # all of them have the same
        self._models = len(ensemble.tasks)
        self._model = ensemble.tasks[0].model

    def type_of(self, name: str) -> tf.DType:
        return tf.string

    def read(self, columns: Sequence[tf.Tensor]) -> tuple[list[Features], dict[str, tf.Tensor]]:
        (images,) = columns
        return [self.preprocessors[0]({IMAGE: images})] * self._models, {}

    def labels(self, features: Features) -> dict[str, tf.Tensor]:
        images = features[IMAGES]
        rows, columns = self._model.patch_grid
        first = self._model.num_prefix_tokens
        names = [CLASS_TOKEN] * first + [f"{row + 1}, {column + 1}" for row in range(rows) for column in range(columns)]
        each = {
            "tokens": names,
            "words": [*range(len(names))],
            "word_texts": names,
            "segments": [0] * len(names),
            "is_special": [number < first for number in range(len(names))],
            "grid": [rows, columns],
        }
        seen = tf.map_fn(
            tf.io.encode_png, tf.image.convert_image_dtype(images, tf.uint8), fn_output_signature=tf.string
        )
        of_all = {
            name: tf.repeat(tf.constant(values)[None], tf.shape(images)[0], axis=0) for name, values in each.items()
        }
        return {**of_all, "image_bytes": seen}

    def about(self) -> dict[str, Any]:
        height, width = self.preprocessors[0].height_and_width
        known = {"kind": "image", "height": height, "width": width, "max_bytes": LARGEST}
        return {"inputs": {IMAGE: known}, "entries": {}}

    def request(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        return {IMAGE: [row[IMAGE] for row in rows]}

    def warm_up(self, rows: Sequence[Mapping[str, Any]]) -> list[Columns]:
        """Batches of several sizes."""
        return [self.request([rows[number % len(rows)] for number in range(count)]) for count in WARM_UP_ROWS]

    def signatures(self, served: ServedRows) -> dict[str, Any]:
        def encode(*columns: tf.Tensor) -> dict[str, tf.Tensor]:
            features, _ = self.read(columns)
            return {ENCODED: tf.concat([outputs[ENCODED] for outputs in served.run(features)], axis=-1)}

        return {"features": tf.function(encode, input_signature=self.specs, autograph=False)}

    def warm_up_signatures(self, columns: Columns) -> Iterator[tuple[str, Columns]]:
        yield "features", columns
