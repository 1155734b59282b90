"""Words by the characters in them, so that words which no text had have vectors too."""

from typing import Annotated

import tensorflow as tf
from pydantic import PositiveInt

from tfattn.config.relations import AtMost

NONE = -1  # where a word has no further n-gram
_BEGIN, _END = "<", ">"


class Subwords:
    """The n-grams of the characters of words, each a number from 0 to `buckets` - 1.

    `where` is read as `<where>`, whose n-grams of 3 are `<wh`, `whe`, `her`, `ere`, `re>`. N-grams are hashed: of very
    many, some share a number, and then a vector.

    Args:
        shortest: characters of the shortest n-grams.
        longest: of the longest ones.
        buckets: how many numbers there are.
        most: n-grams of a word; short ones come first, so of long words some long n-grams are left out.

    Call arguments:
        words: (B,) strings, as the vocabulary has them.

    Returns:
        (B, most) int32, filled up with -1.

    Example:
        Subwords(shortest=3, longest=3, buckets=1000)(tf.constant(["where"]))[0, :6]  # five numbers and -1

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
        """Its arguments."""
        return {name: getattr(self, name) for name in ("shortest", "longest", "buckets", "most")}

    def __call__(self, words: tf.Tensor) -> tf.Tensor:
        characters = tf.strings.unicode_split(tf.strings.join([_BEGIN, words, _END]), "UTF-8", errors="replace")
        parts = tf.strings.ngrams(characters, list(range(self.shortest, self.longest + 1)), separator="")
        numbers = parts.with_values(tf.strings.to_hash_bucket_fast(parts.values, self.buckets))
        return tf.cast(numbers.to_tensor(NONE, shape=[None, self.most]), tf.int32)
