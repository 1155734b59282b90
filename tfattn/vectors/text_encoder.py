"""An encoder by itself, published or exported: texts in, vectors out, in the order of the texts."""

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
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.pretrained.contract import Pretrained
from tfattn.training.compiled import compiled
from tfattn.training.runtime import Runtime

Pooling = Literal["none", "mean", "cls", "pooler"]

TOP = (-1,)
LAST_FOUR = (-1, -2, -3, -4)  # as google-research/bert's extract_features.py
ROWS = 4096  # of like length among so many share a batch
NUMBERS = 2**25  # in vectors that are held at a time: 128 MiB


class TextVectors(NamedTuple):
    """What an encoder makes of a text, or of a pair of texts.

    Attributes:
        tokens: T of them, [CLS] and [SEP]s included.
        values: float32: (L D,) of the text, its L layers side by side; without pooling (T, L, D), of each token.
        is_truncated: whether the text was too long, and its end was not read.
    """

    tokens: list[str]
    values: np.ndarray
    is_truncated: bool


class TextEncoder:
    """Reads texts, or pairs of them, by an encoder whose weights stay as they are.

    Texts of like length share a batch, a few thousand of them at a time, so memory does not depend on how many there
    are. What others share a batch with a text, and how it is padded, changes its vectors by no more than rounding.

    Args:
        model: the encoder.
        tokenizer: fitted; its `fields` are those of the rows.
        layers: which layers, from the topmost, -1, down to the embeddings, -1 - num_layers; those of a text stand side
            by side. By default -1, and without pooling -1, -2, -3, -4, as far as there are so many.
        pooling: how a text becomes one vector: the "mean" of its tokens, the vector of "cls", or BERT's "pooler" over
            it; "none" gives the vectors of its tokens.
        normalize: whether each vector is brought to length 1, so that products of vectors are cosines.
        max_tokens: of a batch, padding included.

    Raises:
        ConfigError: the encoder has no such layer, or the pooler does not read it.

    Example:
        >>> encoder = TextEncoder.open("minilm", pooling="mean", normalize=True)
        >>> one, other = encoder.encode([{"text": "The cat sleeps."}, {"text": "A cat is asleep."}])
        >>> float(one.values @ other.values) > 0.8
        True

    Source: Devlin et al. 2018, "BERT", section 5.3; mean pooling as in Reimers and Gurevych 2019, "Sentence-BERT".
    """

    def __init__(
        self,
        model: Encoder,
        tokenizer: WordPiece,
        *,
        pooling: Pooling,
        layers: Sequence[int] | None = None,
        normalize: bool = False,
        max_tokens: int = 2048,
    ):
        self.model, self.tokenizer = model, tokenizer
        self.pooling, self.normalize = pooling, normalize
        self.layers = _layers(layers, pooling, lowest=-1 - model.num_layers)
        self._batching = Batching(max_tokens=max(max_tokens, tokenizer.max_length))
        self._names = np.array(tokenizer.tokens, object)
        self._computed = compiled(self._compute)
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
        """Build an encoder with its published weights, or with those of an export.

        Args:
            source: what `pretrained.open` takes or returns.
            pooling: see above.
            fields: the names of the texts of a row, one or two; by default those that it was trained on, or `text`.
            max_length: the longest sequence in tokens, [CLS] and [SEP]s included; by default as it was trained.
            precision: of its layers.
            options: the other arguments of the constructor.

        Raises:
            ConfigError: there is no such source, or no such layer; or max_length is more than the encoder takes.
            CheckpointError: its files are damaged, hold no encoder of texts, or no pooler where that is to pool.
        """
        weights = source if isinstance(source, Pretrained) else pretrained.open(source)
        kind = registry.find("models", weights.model)
        if not issubclass(kind, Encoder):
            received = f"the model {weights.model}"
            raise CheckpointError("it holds no encoder of texts", where=str(weights.folder), received=received)
        tokenizer = WordPiece(
            max_length=max_length or weights.max_length, fields=tuple(fields or weights.trained_on.columns)
        )
        tokenizer.adopt(**weights.tokenization())
        tokenizer.fit([])
        runtime = Runtime(precision=precision, strategy="one_device").start()
        with runtime.scope():
            model = kind(**weights.sizes())
        if tokenizer.max_length > model.max_sequence_length:
            raise ConfigError(
                "the encoder takes no sequences of this length",
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
            rows: each with the fields of the tokenizer.
        """
        rows = iter(rows)
        while window := list(itertools.islice(rows, ROWS)):
            fields = {name: tf.constant([row[name] for row in window]) for name in self.tokenizer.fields}
            sequences, truncated = self._read(fields)
            lengths, truncated = sequences[TOKEN_IDS].row_lengths().numpy(), truncated.numpy()
            for part in self._parts(lengths):
                yield from self._encoded(sequences, lengths, truncated, part)

    def _parts(self, lengths: np.ndarray) -> list[np.ndarray]:
        """Divide the rows of a window, so that the vectors of each part can be held."""
        vectors = lengths if self.pooling == "none" else np.ones_like(lengths)
        filled = np.cumsum(vectors) * len(self.layers) * self.model.hidden_dim // NUMBERS
        return np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(filled)) + 1)

    def _encoded(
        self, sequences: Mapping[str, tf.RaggedTensor], lengths: np.ndarray, truncated: np.ndarray, rows: np.ndarray
    ) -> Iterator[TextVectors]:
        """Compute the vectors of some rows of a window, batch by batch; yield them in order."""
        found: dict[int, TextVectors] = {}
        (window,) = self._batching.plan([lengths[rows]], seed=0, epoch=0, shuffle=False)
        for places in window.batches:
            batch = rows[places]
            features = padded({name: tf.gather(sequences[name], batch) for name in (TOKEN_IDS, SEGMENT_IDS)})
            values = self._computed(features).numpy()
            names = self._names[features[TOKEN_IDS].numpy()]
            for place, row in enumerate(batch.tolist()):
                length = lengths[row]
                vectors = values[place, :length] if self.pooling == "none" else values[place]
                found[row] = TextVectors(names[place, :length].tolist(), vectors, bool(truncated[row]))
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


def _layers(layers: Sequence[int] | None, pooling: Pooling, *, lowest: int) -> tuple[int, ...]:
    """Return the layers that are asked for, or those of the pooling."""
    if layers is None:
        return tuple(layer for layer in LAST_FOUR if layer >= lowest) if pooling == "none" else TOP
    if pooling == "pooler" and tuple(layers) != TOP:
        raise ConfigError("the pooler reads the topmost layer", key="layers", expected="-1", received=_listed(layers))
    unknown = [layer for layer in layers if not lowest <= layer <= -1]
    if unknown or not layers:
        raise ConfigError(
            "the encoder has no such layer",
            key="layers",
            expected=f"some of -1, the topmost, to {lowest}, the embeddings",
            received=_listed(unknown) or "none",
        )
    return tuple(layers)


def _listed(layers: Sequence[int]) -> str:
    return ", ".join(map(str, layers))
