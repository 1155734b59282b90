"""Published weights as a Keras model with its preprocessor."""

import html
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfattn import registry
from tfattn.config.schema import keys_of
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.pretrained.contract import Pretrained


class PretrainedModel:
    """A Keras model with published weights, and the preprocessor of its inputs.

    Attributes:
        model: the model, which takes the features of `preprocess`.
        preprocessor: the fitted preprocessor.
        source: the published files.

    Example:
        >>> minilm = tfattn.pretrained("minilm")
        >>> minilm.model(minilm.preprocess(["The cat sleeps."]))["sequence_output"].shape
        TensorShape([1, 6, 384])
    """

    def __init__(self, model: keras.Model, preprocessor: Preprocessor, source: Pretrained):
        self.model, self.preprocessor, self.source = model, preprocessor, source

    def preprocess(self, *inputs: Sequence[str] | Sequence[bytes]) -> dict[str, tf.Tensor]:
        """Return the features of a batch, padded to its longest row.

        Args:
            inputs: B texts, or the bytes of B image files, for each field of the preprocessor.
        """
        fields = zip(self.preprocessor.fields, inputs, strict=True)
        return padded(self.preprocessor({name: tf.constant(list(values), tf.string) for name, values in fields}))

    def __repr__(self) -> str:
        return f"<PretrainedModel {self.source.model} from {self.source.path}>"

    def _repr_html_(self) -> str:
        """Return the name, the number of weights and the origin."""
        return (
            f"<b>{html.escape(self.source.model)}</b>: {self.model.count_params():,} weights from "
            f"<code>{html.escape(str(self.source.path))}</code>"
        )


def load(weights: Pretrained, *, max_length: int | None = None) -> PretrainedModel:
    """Build the model of published weights and load them.

    Args:
        weights: the published files.
        max_length: the maximum number of tokens of a text; by default as in their training.

    Raises:
        CheckpointError: the weights cannot be read, or are incomplete.
    """
    sizes = weights.sizes()
    model: keras.Model = registry.find("models", weights.model)(**sizes)
    weights.load_into(model, [model.pooler] if hasattr(model, "pooler") else [])
    return PretrainedModel(model, preprocessor_of(weights, max_length=max_length), weights)


def preprocessor_of(weights: Pretrained, *, max_length: int | None = None) -> Preprocessor:
    """Build the fitted preprocessor of published weights; see `load`."""
    keys = keys_of("preprocessors", weights.preprocessor)
    options: dict[str, Any] = {"max_length": max_length or weights.max_length} if "max_length" in keys else {}
    options |= {"size": weights.sizes()["image_size"]} if "size" in keys else {}
    preprocessor: Preprocessor = registry.find("preprocessors", weights.preprocessor)(**options)
    preprocessor.adopt(**weights.tokenization())
    preprocessor.fit([])
    return preprocessor
