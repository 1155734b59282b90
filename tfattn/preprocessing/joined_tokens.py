"""Tokens joined to texts, in the graph."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


class JoinedTokens(tf.Module):
    """Joins the bytes of tokens, given their ids.

    Args:
        token_bytes: of each token.

    Example:
        >>> JoinedTokens([b"a", b" b", b""])([[0, 1, 2, 7]]).numpy()
        array([b'a b'], dtype=object)
    """

    def __init__(self, token_bytes: Sequence[bytes]):
        super().__init__()
        self._size = len(token_bytes)
        self._bytes = tf.constant([*token_bytes, b""])

    def __call__(self, token_ids: Any) -> tf.Tensor:
        """Join ids, (B, L) or ragged, to bytes (B,); what is no id is dropped."""
        strings = tf.ragged.map_flat_values(self._strings, token_ids)
        return tf.strings.reduce_join(strings, axis=1)

    def _strings(self, ids: Any) -> tf.Tensor:
        ids = tf.convert_to_tensor(ids)
        return tf.gather(self._bytes, tf.where((ids >= 0) & (ids < self._size), ids, self._size))
