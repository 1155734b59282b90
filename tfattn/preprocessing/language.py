"""The contract of tokenizers of language models: texts to tokens, and tokens back to texts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.features import TEXT, TOKEN_IDS
from tfattn.preprocessing.passages import batch_passages
from tfattn.preprocessing.preprocessor import Preprocessor


class Language(Preprocessor):
    """A tokenizer of a language model: it encodes whole texts, and decodes tokens to text.

    Sequences have no start token: documents are concatenated, with `end_id` after each. There is no padding token;
    masks mark the padding.

    Attributes:
        max_length: the maximum length of sequences from `__call__`, such as prompts; `split` has no limit.
    """

    fields = (TEXT,)
    max_length: int

    @property
    def tokens(self) -> list[str]:
        """The tokens, in the order of their ids, under the names of the vocabulary files."""
        raise NotImplementedError

    @property
    def token_bytes(self) -> tuple[bytes, ...]:
        """The bytes that each token adds to a text; empty for special tokens."""
        raise NotImplementedError

    @property
    def end_id(self) -> int:
        """The id of the token after a document."""
        raise NotImplementedError

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        """The ids of tokens that are never generated: unknown and special tokens, but not the end."""
        raise NotImplementedError

    def id_of(self, special: str) -> int | None:
        """Return the id of a special token, such as <|im_start|>, or None."""
        raise NotImplementedError

    def split(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids of all tokens of texts (B,), UTF-8: ragged (B, (T)) int32."""
        raise NotImplementedError

    def ids_of(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the ids of each text, (T,) int32, for texts of any length; runs eagerly."""
        parts: list[np.ndarray] = []
        current = 0
        for batch in batch_passages(texts):
            ids = self.split(tf.constant(batch.passages))
            for number, part in zip(batch.texts, np.split(ids.values.numpy(), ids.row_splits[1:-1]), strict=True):
                if number > current:
                    yield np.concatenate(parts)
                    parts, current = [], number
                parts.append(part)
        if parts:
            yield np.concatenate(parts)

    def detokenize(self, token_ids: Any) -> tf.Tensor:
        """Join ids, (B, L) or ragged, to texts (B,), as bytes that may end within a character.

        Special tokens and ids outside of the vocabulary are dropped.
        """
        raise NotImplementedError

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary_size": len(self.tokens)}

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, tf.RaggedTensor]:
        """Tokenize texts.

        Args:
            fields: `text` (B,), UTF-8.

        Returns:
            `token_ids`, ragged (B, (T)) int32; the last max_length tokens of longer texts.
        """
        return {TOKEN_IDS: self.split(fields[TEXT])[:, -self.max_length :]}

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        return self.split(fields[TEXT]).row_lengths() > self.max_length


class Detokenizer(tf.Module):
    """Joins the bytes of tokens to texts, in the graph.

    Args:
        token_bytes: the bytes of each token, in the order of the ids.

    Example:
        >>> Detokenizer([b"a", b" b", b""])([[0, 1, 2, 7]]).numpy()
        array([b'a b'], dtype=object)
    """

    def __init__(self, token_bytes: Sequence[bytes]):
        super().__init__()
        self._size = len(token_bytes)
        self._bytes = tf.constant([*token_bytes, b""])

    def __call__(self, token_ids: Any) -> tf.Tensor:
        """Join ids, (B, L) or ragged, to bytes (B,); ids outside of the vocabulary are dropped."""
        strings = tf.ragged.map_flat_values(self._strings, token_ids)
        return tf.strings.reduce_join(strings, axis=1)

    def _strings(self, ids: Any) -> tf.Tensor:
        ids = tf.convert_to_tensor(ids)
        return tf.gather(self._bytes, tf.where((ids >= 0) & (ids < self._size), ids, self._size))
