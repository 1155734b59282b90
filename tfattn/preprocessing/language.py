"""The contract of preprocessors whose tokens models write: texts to tokens, and tokens back to texts."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.features import TEXT, TOKEN_IDS
from tfattn.preprocessing.passages import batches_of
from tfattn.preprocessing.preprocessor import Preprocessor


class Language(Preprocessor):
    """The contract: all of a text becomes tokens, and tokens become text again.

    Sequences have no start and no end of their own: documents are laid end to end, with `end_id` behind each. No id is
    spent on padding, which masks tell from tokens.

    Attributes:
        max_length: the longest sequence that `__call__` makes, such as of a prompt; `split` has no limit.
    """

    fields = (TEXT,)
    max_length: int

    @property
    def tokens(self) -> list[str]:
        """The tokens, in the order of their ids, as files and people name them."""
        raise NotImplementedError

    @property
    def token_bytes(self) -> tuple[bytes, ...]:
        """What each token adds to a text; nothing where it is a special one."""
        raise NotImplementedError

    @property
    def end_id(self) -> int:
        """The id of the token behind a document."""
        raise NotImplementedError

    @property
    def suppressed_ids(self) -> tuple[int, ...]:
        """The ids of tokens that are never written, such as unknown ones and special ones, but not the end."""
        raise NotImplementedError

    def id_of(self, special: str) -> int | None:
        """Return the id of a special token, such as <|im_start|>; None where there is none."""
        raise NotImplementedError

    def split(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids of all tokens of texts (B,), UTF-8: ragged (B, (T)) int32."""
        raise NotImplementedError

    def ids_of(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the ids of each text, (T,) int32, however long it is; not in a graph."""
        parts: list[np.ndarray] = []
        current = 0
        for batch in batches_of(texts):
            ids = self.split(tf.constant(batch.passages))
            for number, part in zip(batch.texts, np.split(ids.values.numpy(), ids.row_splits[1:-1]), strict=True):
                if number > current:
                    yield np.concatenate(parts)
                    parts, current = [], number
                parts.append(part)
        if parts:
            yield np.concatenate(parts)

    def detokenize(self, token_ids: Any) -> tf.Tensor:
        """Join ids, (B, L) or ragged, to texts (B,): bytes, which a token may end within a character.

        Special tokens, and what is no id, are dropped.
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
            `token_ids`, ragged (B, (T)) int32; of a longer text the last max_length tokens.
        """
        return {TOKEN_IDS: self.split(fields[TEXT])[:, -self.max_length :]}

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        return self.split(fields[TEXT]).row_lengths() > self.max_length
