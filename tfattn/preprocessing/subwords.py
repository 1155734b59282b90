"""Character n-grams of words, from which unknown words get their vectors."""

from typing import Annotated

import tensorflow as tf
from pydantic import PositiveInt

from tfattn.config.relations import AtMost

NONE = -1  # padding after the last n-gram of a word
_START, _END = "<", ">"


class Subwords:
    """Character n-grams of words, hashed to ids from 0 to `buckets` - 1.

    `where` is read as `<where>`, whose 3-grams are `<wh`, `whe`, `her`, `ere`, `re>`. N-grams with the same
    hash share a vector.

    Args:
        shortest: the length of the shortest n-grams, in characters.
        longest: the length of the longest n-grams.
        buckets: the number of ids.
        most: the maximum number of n-grams of a word. Short n-grams come first, so long words lose long n-grams.

    Call arguments:
        words: (B,) strings, as the vocabulary has them.

    Returns:
        (B, most) int32, padded with -1.

    Example:
        Subwords(shortest=3, longest=3, buckets=1000)(tf.constant(["where"]))[0, :6]  # five ids and -1

    Source: Bojanowski et al. 2017, "Enriching word vectors with subword information", section 3.2, but for the hash.
    """

    def __init__(
        self,
        *,
        shortest: Annotated[PositiveInt, AtMost("longest")] = 3,
        longest: PositiveInt = 6,
        buckets: PositiveInt = 200_000,
        most: PositiveInt = 40,
    ):
        self.shortest = shortest
        self.longest = longest
        self.buckets = buckets
        self.most = most

    @property
    def settings(self) -> dict[str, int]:
        """The arguments of the constructor."""
        return {name: getattr(self, name) for name in ("shortest", "longest", "buckets", "most")}

    def __call__(self, words: tf.Tensor) -> tf.Tensor:
        characters = tf.strings.unicode_split(tf.strings.join([_START, words, _END]), "UTF-8", errors="replace")
        parts = tf.strings.ngrams(characters, list(range(self.shortest, self.longest + 1)), separator="")
        numbers = parts.with_values(tf.strings.to_hash_bucket_fast(parts.values, self.buckets))
        return tf.cast(numbers.to_tensor(NONE, shape=[None, self.most]), tf.int32)
