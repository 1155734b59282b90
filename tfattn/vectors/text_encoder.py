"""Encoding of texts to vectors with a published or exported encoder."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf
from keras import ops

from tfattn import pretrained, registry
from tfattn.data.batching import Batching
from tfattn.errors import CheckpointError, ConfigError
from tfattn.features import HIDDEN_STATES, PADDING_MASK, POOLED_OUTPUT, SEGMENT_IDS, SEQUENCE_OUTPUT, TOKEN_IDS
from tfattn.models.contracts.encoder import Encoder
from tfattn.ops import pooling as pool
from tfattn.preprocessing.encoder_tokens import EncoderTokens
from tfattn.preprocessing.padding import padded
from tfattn.pretrained.contract import Pretrained
from tfattn.training.compiled import compiled
from tfattn.training.runtime import Runtime

Pooling = Literal["none", "mean", "cls", "pooler"]

TOP = (-1,)
LAST_FOUR = (-1, -2, -3, -4)  # as in google-research/bert's extract_features.py
WINDOW_ROWS = 4096  # rows that are sorted by length together
MAX_FLOATS = 2**25  # of vectors in memory at a time: 128 MiB


class TextVectors(NamedTuple):
    """The vectors of a text or a pair of texts.

    Attributes:
        tokens: the T tokens, [CLS] and [SEP]s included.
        values: float32: (L * D,) of the text, its L layers concatenated; without pooling (T, L, D), of each token.
        is_truncated: whether the text was too long and was cut.
    """

    tokens: list[str]
    values: np.ndarray
    is_truncated: bool


class TextEncoder:
    """A frozen encoder of texts or pairs of texts.

    Among a few thousand texts at a time, texts of similar length share a batch, so memory is independent of the number
    of texts. Batching and padding change vectors only by rounding.

    Args:
        model: the encoder.
        tokenizer: the fitted tokenizer; its `fields` are the fields of the rows.
        layers: the layers, from the top, -1, down to the embeddings, -1 - num_layers; layers of a text are
            concatenated. By default -1, and without pooling -1, -2, -3, -4, as far as they exist.
        pooling: the vector of a text: the "mean" of its tokens, the vector of "cls", or BERT's "pooler" over it;
            "none" gives the vectors of tokens.
        normalize: whether vectors are normalized to length 1, so that dot products are cosines.
        max_tokens: the maximum number of tokens of a batch, padding included.

    Raises:
        ConfigError: the encoder has no such layer, or the pooler does not use it.

    Example:
        >>> encoder = TextEncoder.open("minilm", pooling="mean", normalize=True)
        >>> first, second = encoder.encode([{"text": "The cat sleeps."}, {"text": "A cat is asleep."}])
        >>> float(first.values @ second.values) > 0.8
        True

    Source: Devlin et al. 2018, "BERT", section 5.3; mean pooling as in Reimers and Gurevych 2019, "Sentence-BERT".
    """

    def __init__(
        self,
        model: Encoder,
        tokenizer: EncoderTokens,
        *,
        pooling: Pooling,
        layers: Sequence[int] | None = None,
        normalize: bool = False,
        max_tokens: int = 2048,
    ):
        self.model, self.tokenizer = model, tokenizer
        self.pooling, self.normalize = pooling, normalize
        self.layers = _resolve_layers(layers, pooling, lowest=-1 - model.num_layers)
        self._batching = Batching(max_tokens=max(max_tokens, tokenizer.max_length))
        self._names = np.array(tokenizer.tokens, object)
        self._compiled_model = compiled(self._compute)
        self._read = compiled(lambda fields: (tokenizer(fields), tokenizer.truncated(fields)))

    @classmethod
    def open(
        cls,
        source: str | Path | Pretrained,
        *,
        pooling: Pooling,
        fields: Sequence[str] | None = None,
        max_length: int | None = None,
        precision: Literal["float32", "bfloat16"] = "float32",
        **options: Any,
    ) -> "TextEncoder":
        """Build an encoder with published weights, or the weights of an export.

        Args:
            source: an argument or a result of `pretrained.open`.
            pooling: as for the constructor.
            fields: the names of one or two text fields; by default the fields of the training file, or `text`.
            max_length: the maximum sequence length, [CLS] and [SEP]s included; by default as in training.
            precision: the precision of the layers.
            options: the other arguments of the constructor.

        Raises:
            ConfigError: there is no such source, or no such layer; or max_length exceeds the maximum of the encoder.
            CheckpointError: the files are damaged, have no text encoder, or lack the pooler if it is needed.
        """
        weights = source if isinstance(source, Pretrained) else pretrained.open(source)
        kind = registry.find("models", weights.model)
        if not issubclass(kind, Encoder):
            received = f"the model {weights.model}"
            raise CheckpointError("the model is not a text encoder", where=str(weights.folder), received=received)
        tokenizer = registry.find("preprocessors", weights.preprocessor)(
            max_length=max_length or weights.max_length, fields=tuple(fields or weights.trained_on.columns)
        )
        tokenizer.adopt(**weights.tokenization())
        tokenizer.fit([])
        runtime = Runtime(precision=precision, strategy="one_device").start()
        with runtime.scope():
            model = kind(**weights.sizes())
        if tokenizer.max_length > model.max_sequence_length:
            raise ConfigError(
                "max_length exceeds the maximum of the encoder",
                key="max_length",
                expected=f"at most {model.max_sequence_length}",
                received=str(tokenizer.max_length),
            )
        encoder = cls(model, tokenizer, pooling=pooling, **options)
        weights.load_into(model, () if pooling == "pooler" else (model.pooler,))
        return encoder

    def encode(self, rows: Iterable[Mapping[str, str]]) -> Iterator[TextVectors]:
        """Compute the vectors of rows, in order.

        Args:
            rows: rows with the fields of the tokenizer.
        """
        rows = iter(rows)
        while window := list(itertools.islice(rows, WINDOW_ROWS)):
            fields = {name: tf.constant([row[name] for row in window]) for name in self.tokenizer.fields}
            sequences, truncated = self._read(fields)
            lengths, truncated = sequences[TOKEN_IDS].row_lengths().numpy(), truncated.numpy()
            for part in self._parts(lengths):
                yield from self._encode_part(sequences, lengths, truncated, part)

    def _parts(self, lengths: np.ndarray) -> list[np.ndarray]:
        """Split the rows of a window into parts whose vectors fit into memory."""
        vectors = lengths if self.pooling == "none" else np.ones_like(lengths)
        filled = np.cumsum(vectors) * len(self.layers) * self.model.hidden_dim // MAX_FLOATS
        return np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(filled)) + 1)

    def _encode_part(
        self, sequences: Mapping[str, tf.RaggedTensor], lengths: np.ndarray, truncated: np.ndarray, rows: np.ndarray
    ) -> Iterator[TextVectors]:
        """Compute the vectors of a part of a window, by batches; return them in order."""
        found: dict[int, TextVectors] = {}
        (window,) = self._batching.plan([lengths[rows]], seed=0, epoch=0, shuffle=False)
        for indices in window.batches:
            batch = rows[indices]
            features = padded({name: tf.gather(sequences[name], batch) for name in (TOKEN_IDS, SEGMENT_IDS)})
            values = self._compiled_model(features).numpy()
            names = self._names[features[TOKEN_IDS].numpy()]
            for index, row in enumerate(batch.tolist()):
                length = lengths[row]
                vectors = values[index, :length] if self.pooling == "none" else values[index]
                found[row] = TextVectors(names[index, :length].tolist(), vectors, bool(truncated[row]))
        return (found[row] for row in rows.tolist())

    def _compute(self, features: dict[str, Any]) -> Any:
        outputs = self.model(features)
        if self.pooling == "pooler":
            vectors = ops.cast(outputs[POOLED_OUTPUT], "float32")
        else:
            states = [
                outputs[SEQUENCE_OUTPUT] if layer == -1 else outputs[HIDDEN_STATES][layer] for layer in self.layers
            ]
            if self.pooling == "none":
                vectors = ops.cast(ops.stack(states, axis=2), "float32")  # (B, T, D) -> (B, T, L, D)
            else:
                pooled = [pool.pooled(x, features[PADDING_MASK], by=self.pooling) for x in states]
                vectors = ops.concatenate(pooled, axis=-1)  # (B, D) -> (B, L D)
        return ops.normalize(vectors, axis=-1) if self.normalize else vectors


def _resolve_layers(layers: Sequence[int] | None, pooling: Pooling, *, lowest: int) -> tuple[int, ...]:
    """Return the requested layers, or the default layers of the pooling."""
    if layers is None:
        return tuple(layer for layer in LAST_FOUR if layer >= lowest) if pooling == "none" else TOP
    if pooling == "pooler" and tuple(layers) != TOP:
        raise ConfigError("the pooler reads the top layer", key="layers", expected="-1", received=_listed(layers))
    unknown = [layer for layer in layers if not lowest <= layer <= -1]
    if unknown or not layers:
        raise ConfigError(
            "the encoder has no such layer",
            key="layers",
            expected=f"some of -1, the top, to {lowest}, the embeddings",
            received=_listed(unknown) or "none",
        )
    return tuple(layers)


def _listed(layers: Sequence[int]) -> str:
    return ", ".join(map(str, layers))
