"""The contract of language models."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tfattn.decoding.cache import Cache, Pair
from tfattn.models.contracts.model import Model
from tfattn.ops.indexing import pick

Biases = tuple[Any, Any]  # of the cached keys and of the new keys


class Decoder(Model):
    """A model that reads a text from left to right and predicts the next token at each position.

    `call(features, training=False)` takes `token_ids` (B, T), and optionally `padding_mask` (B, T), True at real
    tokens, and `sequence_ids` (B, T) for packed texts, which do not see each other. It returns `logits` (B, T, V) of
    the next token at each position. Later and padded positions never change earlier logits.

    In generation `prefill` reads the prompts and `step` one token after another; their logits are the logits of `call`.
    Caches grow when they are merged.

    Attributes:
        vocabulary_size: V, the number of token ids.
        max_sequence_length: the longest text in tokens.
        window: the number of positions that some layers see; None if all layers see all earlier positions.
    """

    vocabulary_size: int
    max_sequence_length: int
    window: int | None = None

    @abstractmethod
    def empty_cache(self, batch_size: Any) -> Cache:
        """Return the cache of empty texts."""
        raise NotImplementedError

    @abstractmethod
    def read(self, token_ids: Any, cache: Cache, padding_mask: Any = None) -> tuple[Any, Cache]:
        """Read more tokens of each text, padded at their ends.

        Args:
            token_ids: (B, T) int.
            cache: the cache of earlier tokens.
            padding_mask: (B, T), True at real tokens; None if all are real.

        Returns:
            vectors (B, T, D) for `next_logits`; and the cache, with T more recent positions.
        """
        raise NotImplementedError

    def read_biased(
        self, token_ids: Any, positions: Any, past: Sequence[Pair], biases: Biases, window_biases: Biases | None = None
    ) -> tuple[Any, list[Pair]]:
        """Read tokens after keys and values that the caller holds, for engines with their own cache, such as LiteRT.

        Args:
            token_ids: (B, T) int.
            positions: (B, T) int, the position of each token.
            past: keys and values of each layer, (B, G, S, K).
            biases: added to the scores of the cached keys and of the new keys: they broadcast to (B, 1, T, S) and
                (B, 1, T, T).
            window_biases: the biases of the layers with a window.

        Returns:
            vectors (B, T, D) for `next_logits`; and the keys and values of the tokens in each layer, (B, G, T, K).
        """
        raise NotImplementedError

    @abstractmethod
    def next_logits(self, x: Any) -> Any:
        """Compute the logits of the next tokens: (..., D) -> (..., V) float32."""
        raise NotImplementedError

    def row_logits(self, x: Any) -> Any:
        """Compute `next_logits` of rows, (N, D) -> (N, V), as a single product of two matrices."""
        raise NotImplementedError

    def prefill(self, token_ids: Any, padding_mask: Any, cache: Cache | None = None) -> tuple[Any, Cache]:
        """Read prompts, or more of them.

        Args:
            token_ids: (B, T) int.
            padding_mask: (B, T), True at real tokens; each row has at least one.
            cache: the cache of earlier tokens; None if there are none.

        Returns:
            the logits (B, V) float32 after the last token of each row, and the cache.
        """
        cache = self.empty_cache(ops.shape(token_ids)[0]) if cache is None else cache
        x, cache = self.read(token_ids, cache, padding_mask)
        last = ops.sum(ops.cast(padding_mask, "int32"), axis=1, keepdims=True) - 1
        return self.next_logits(pick(x, last)[:, 0]), cache

    def step(self, token_ids: Any, cache: Cache) -> tuple[Any, Cache]:
        """Read one token of each text; the shapes of the cache do not change, as a loop requires.

        Args:
            token_ids: (B,) int.
            cache: a merged cache with a free position.

        Returns:
            the logits (B, V) float32 of the next token, and the cache.
        """
        x, cache = self.read(token_ids[:, None], cache)
        return self.next_logits(x[:, 0]), cache.drop_first(1)

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards for layer-wise rates."""
        raise NotImplementedError
