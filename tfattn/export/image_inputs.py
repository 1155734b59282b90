"""The inputs of exports that read images: the bytes of image files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfattn.export.servable_model import Columns
from tfattn.export.servable_row_model import Features, Inputs, ServableRowModel
from tfattn.features import ENCODED, IMAGE, IMAGES
from tfattn.formats.images import MAX_BYTES
from tfattn.trained.ensemble import TrainedEnsemble

CLASS_TOKEN = "[CLS]"


class ImageInputs(Inputs):
    """The input `image` (B,) string: bytes of JPEG, PNG, GIF or BMP files; in JSON {"b64": "..."}. Adds a signature:

        features   image -> encoded (B, D) float32, the input of the head; members are concatenated

    The graph decodes, resizes and scales images as in training. Bytes that are no image, and images larger than the
    preprocessing allows, are an error before decoding; the error has the number of the image, from 1. A file that is
    damaged after its header fails during decoding, and the whole request with it; a server then retries the other
    requests of the batch one by one.

    Attention signatures: tokens are patches; `grid` (B, 2) int32 is the number of patch rows and columns; `image_bytes`
    (B,) string is a PNG file of each preprocessed image.

    Args:
        ensemble: the trained models, which read images of the same size.
    """

    names = (IMAGE,)

    def __init__(self, ensemble: TrainedEnsemble):
        self.preprocessors = ensemble.preprocessors[:1]  # all members share it
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
        labels = {
            "tokens": names,
            "words": [*range(len(names))],
            "word_texts": names,
            "segments": [0] * len(names),
            "is_special": [number < first for number in range(len(names))],
            "grid": [rows, columns],
        }
        preprocessed = tf.map_fn(
            tf.io.encode_png, tf.image.convert_image_dtype(images, tf.uint8), fn_output_signature=tf.string
        )
        batch = {
            name: tf.repeat(tf.constant(values)[None], tf.shape(images)[0], axis=0) for name, values in labels.items()
        }
        return {**batch, "image_bytes": preprocessed}

    def metadata(self) -> dict[str, Any]:
        height, width = self.preprocessors[0].height_and_width
        known = {"kind": "image", "height": height, "width": width, "max_bytes": MAX_BYTES}
        return {"inputs": {IMAGE: known}, "entries": {}}

    def request(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        return {IMAGE: [row[IMAGE] for row in rows]}

    def signatures(self, served: ServableRowModel) -> dict[str, Any]:
        def encode(*columns: tf.Tensor) -> dict[str, tf.Tensor]:
            features, _ = self.read(columns)
            return {ENCODED: tf.concat([outputs[ENCODED] for outputs in served.run(features)], axis=-1)}

        return {"features": tf.function(encode, input_signature=self.specs, autograph=False)}

    def warm_up_signatures(self, columns: Columns) -> Iterator[tuple[str, Columns]]:
        yield "features", columns
