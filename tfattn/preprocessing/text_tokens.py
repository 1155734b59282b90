"""Tokens that are found in texts as they are, before a text is divided into pieces."""

import re
from collections.abc import Callable, Mapping

import tensorflow as tf

_BOUND = b"\xff"  # no text in UTF-8 has this byte


class TextTokens(tf.Module):
    """Finds tokens in texts, the leftmost first, and of several at the same position the longest.

    Args:
        ids: the id of each token.

    Example:
        >>> found = TextTokens({"<a>": 7})
        >>> found(tf.constant(["x<a>"]), lambda texts: tf.RaggedTensor.from_row_splits([1], [0, 1, 1])).to_list()
        [[1, 7]]

    Source: the added tokens of the package `tokenizers`.
    """

    def __init__(self, ids: Mapping[str, int]):
        super().__init__()
        names = sorted(ids, key=len, reverse=True)  # of alternatives, a regular expression takes the first
        self._pattern = f"({'|'.join(map(re.escape, names))})"
        self._names, self._ids = tf.constant(names), tf.constant([ids[name] for name in names], tf.int32)

    def __call__(self, texts: tf.Tensor, split: Callable[[tf.Tensor], tf.RaggedTensor]) -> tf.RaggedTensor:
        """Return the ids of texts (B,), ragged (B, (T)) int32.

        Args:
            texts: UTF-8.
            split: returns the ids of texts without these tokens, (N,), as ragged (N, (T)) int32.
        """
        parts, ids = self.find(texts)
        return joined_parts(parts, ids >= 0, ids, split(tf.where(ids >= 0, "", parts.values)))

    def find(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Divide texts (B,), UTF-8, at the tokens.

        Returns:
            the parts, ragged (B, (P)), and the id of each of all P parts, int32, -1 for a part without tokens.
        """
        parts = tf.strings.split(tf.strings.regex_replace(texts, self._pattern, _BOUND + rb"\1" + _BOUND), _BOUND)
        matches = parts.values[:, None] == self._names
        ids = tf.gather(self._ids, tf.argmax(tf.cast(matches, tf.int32), axis=1))
        return parts, tf.where(tf.reduce_any(matches, axis=1), ids, -1)


def joined_parts(
    parts: tf.RaggedTensor, is_token: tf.Tensor, of_tokens: tf.Tensor, values: tf.RaggedTensor
) -> tf.RaggedTensor:
    """Join the values of the parts of each text.

    Args:
        parts: the parts of texts, ragged (B, (P)).
        is_token: whether each of all P parts is a token, bool.
        of_tokens: (P,), the values of parts that are tokens.
        values: the values of the other parts, ragged (P, (T)), empty for tokens.

    Returns:
        ragged (B, (T)).
    """
    of_tokens = tf.RaggedTensor.from_row_lengths(
        tf.boolean_mask(of_tokens, is_token), tf.cast(is_token, tf.int64), validate=False
    )
    found = tf.concat([of_tokens, values], axis=1)
    splits = tf.gather(found.row_splits, parts.row_splits)
    return tf.RaggedTensor.from_row_splits(found.values, splits, validate=False)
