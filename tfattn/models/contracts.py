"""The contracts between tasks and models: a task asks for a capability, not for an architecture.

Before a task is built on a model, config/build.py checks that the model has every attribute that its contract declares,
and every method that is abstract here.
"""

from abc import abstractmethod
from typing import Any

import keras
from keras import ops

from tfattn.decoding.cache import Cache
from tfattn.decoding.rows import pick, reorder_rows
from tfattn.features import TOKEN_VECTORS
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.ops.attention_record import Attention, AttentionRecord


class Attends:
    """What a model can be asked whose tokens attend to tokens, beside its other contract.

    `call` also takes `record`, an AttentionRecord that is told what each layer looks at, and among its features
    `token_vectors` (B, T, D), which it reads in place of its own vectors of the tokens.

    Attributes:
        has_vectors: whether what it looks at follows from products of queries and keys, which it then tells, too.
    """

    has_vectors: bool = True

    @abstractmethod
    def vectors_of(self, features: dict[str, Any]) -> Any:
        """Return the vectors (B, T, D) of the tokens alone, as `call` reads them: without positions or segments."""
        raise NotImplementedError

    def token_vectors(self, features: dict[str, Any]) -> Any:
        """Return those of `vectors_of`, or the ones that are given in their place."""
        return features[TOKEN_VECTORS] if TOKEN_VECTORS in features else self.vectors_of(features)

    def attention(self, features: dict[str, Any]) -> dict[str, Attention]:
        """Compute what each layer looks at as it reads, not training.

        Returns:
            of each part: "encoder" or "decoder", which attends to itself, "cross", which attends from target to source.
        """
        record = AttentionRecord()
        self(features, record=record)  # type: ignore[operator]
        return record.stacked()


class Encoder(keras.Model):
    """A model that reads a whole sequence and returns a vector per position and one for the sequence.

    `call(features, training=False)` takes `token_ids` (B, T), `padding_mask` (B, T) and, where the model has them,
    `segment_ids` (B, T); it returns `sequence_output` (B, T, D) and `pooled_output` (B, D). A model of several layers
    may also return `hidden_states`, a list of what the embeddings and each layer give, (B, T, D) each, the last of
    which is `sequence_output`. What stands at padded positions changes nothing at real ones.

    Attributes:
        hidden_dim: the width D of all outputs.
        num_layers: how many layers are among `hidden_states`, beside the embeddings; 0 where there are none.
        max_sequence_length: the longest T that it takes, in tokens.
        reads_spelling: whether it reads `character_ids` (B, T, 50) too.
        pooler: the layer that makes `pooled_output`; a task that does not read it freezes it.
    """

    hidden_dim: int
    num_layers: int = 0
    max_sequence_length: int
    reads_spelling: bool = False
    pooler: keras.layers.Layer

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards (embeddings, block 1, ..., top) for layer-wise rates."""
        raise NotImplementedError


class PretrainableEncoder(Encoder):
    """An Encoder that can be taught to fill in hidden tokens.

    `call` also takes, where texts are packed, `sequence_ids` (B, T): attention then stays within each text, and the
    positions of each begin with 0. Heads score a token by the product with its vector in the table (tied weights).

    Attributes:
        token_embeddings: the table of V token vectors, each of the width `hidden_dim`.
        head_activation: the activation of heads that read its outputs, by its name among ops.activations.ACTIVATIONS.
        layer_norm_epsilon: of the normalizations in them.
        initializer_range: the standard deviation with which their weights are initialized.
    """

    token_embeddings: EmbeddingTable
    head_activation: str
    layer_norm_epsilon: float
    initializer_range: float


class DirectionalEncoder(Encoder):
    """An Encoder of words that reads by characters and in two directions, neither of which sees the other.

    Of the D numbers of a vector the first half follows from what stands up to the word, the second from what stands
    from it on.
    """

    reads_spelling = True

    @abstractmethod
    def word_vectors(self, character_ids: Any) -> Any:
        """Compute the vectors of words, whatever stands around them: (N, 50) int -> (N, P)."""
        raise NotImplementedError

    @abstractmethod
    def layers_of(self, words: Any, padding_mask: Any, segment_ids: Any = None, training: bool = False) -> list[Any]:
        """Compute all layers of sequences of words: (B, T, P) -> `num_layers` + 1 times (B, T, D)."""
        raise NotImplementedError


class WordPredictor(keras.Model):
    """A model that has a vector of each word, with which it predicts words that stand near each other.

    `call(features, training=False)` takes `token_ids`, `sequence_ids` and `windows` (B, T), and `subword_ids` (B, T, M)
    where vectors are made of those of n-grams too; it cuts rows into N blocks of L words and returns `sequence_output`
    (B, N, L, D), the vector at each place that predicts C words of the block.

    Attributes:
        hidden_dim: the width D of the vectors.
        vocabulary_size: V, the number of words.
        subword_buckets: how many n-grams of characters have vectors of their own.
        block: L.
        table: (V + subword_buckets, D), the vectors of words, then those of n-grams.
    """

    hidden_dim: int
    vocabulary_size: int
    subword_buckets: int
    block: int
    table: Any

    @abstractmethod
    def vectors(self, token_ids: Any, subword_ids: Any = None) -> Any:
        """Make the vector of each word.

        Args:
            token_ids: (...) int, -1 for a word that has no vector of its own.
            subword_ids: (..., M) int, the n-grams of its characters, filled up with -1; None where there are none.

        Returns:
            (..., D), the mean of its own vector and those of its n-grams.
        """
        raise NotImplementedError

    @abstractmethod
    def pairs(self, features: dict[str, Any]) -> Any:
        """Tell which of the C words the vector at each place is to predict: (B, N, L, C) bool."""
        raise NotImplementedError

    @abstractmethod
    def predicted(self, x: Any) -> Any:
        """Arrange what is known of each word as that of the C words: (B, N, L, ...) to (B, N, L or 1, C, ...)."""
        raise NotImplementedError

    @abstractmethod
    def scores(self, vectors: Any, outputs: Any) -> Any:
        """Multiply the vector at each place with what the C words have.

        Args:
            vectors: (B, N, L, D).
            outputs: (B, N, L, M, D), M vectors of each word.

        Returns:
            (B, N, L, C, M).
        """
        raise NotImplementedError

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards."""
        raise NotImplementedError


class TableEncoder(keras.Model):
    """A model that reads the columns of a table's row and returns one vector for the row.

    `call(features, training=False)` takes, as the model needs them, `numeric` (B, N), `piecewise` (B, N Q), `missing`
    (B, N) and `category_ids` (B, M); it returns `pooled_output` (B, D) and, where the model has them, explanations:
    `essential_features` (B, E), the few numbers from which everything else is computed, and `column_attention`
    (B, N + M), the attention to each column, which sums to 1. A row's outputs do not depend on the other rows.

    Attributes:
        hidden_dim: the width D of `pooled_output`.
    """

    hidden_dim: int

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards (tokens, block 1, ..., top) for layer-wise rates."""
        raise NotImplementedError


class ImageEncoder(keras.Model):
    """A model that reads an image as a grid of tokens and returns a vector of each and one for the image.

    `call(features, training=False)` takes `images` (B, Y, X, 3), float32 from 0 to 1, all of the size that the model
    was made for. It returns `sequence_output` (B, T, D) and `pooled_output` (B, D); a model of several layers may also
    return `hidden_states`, as an Encoder does. An image's outputs do not depend on the other images. With a further
    argument `only_pooled=True` it returns `pooled_output` alone, and need not compute what that does not take.

    The T tokens are first `num_prefix_tokens` that stand for no place, then those of the image, row by row: of the
    token at (row, column) the number is num_prefix_tokens + row columns + column, and it stands for the part of the
    image that lies there in a grid of equal parts. (A convolution sees a little more than its part.)

    Attributes:
        hidden_dim: the width D of all outputs.
        num_layers: how many layers are among `hidden_states`, beside the tokens; 0 where there are none.
        image_size: the side of the images in pixels, or [Y, X] where these differ.
        patch_grid: (rows, columns) of the tokens that are places of the image.
        num_prefix_tokens: 1 where a class token stands before them, else 0.
    """

    hidden_dim: int
    num_layers: int = 0
    image_size: int | list[int]
    patch_grid: tuple[int, int]
    num_prefix_tokens: int

    @abstractmethod
    def pooled_fractions(self, outputs: dict[str, Any]) -> Any:
        """Tell how much each token counts in `pooled_output`, which is their mean weighted so.

        Args:
            outputs: what `call` returns.

        Returns:
            (B, T) float32, which sum to 1.
        """
        raise NotImplementedError

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards (tokens, block 1, ..., top) for layer-wise rates."""
        raise NotImplementedError


class Decoder(keras.Model):
    """A model that reads a text from left to right and tells at each token what comes next.

    `call(features, training=False)` takes `token_ids` (B, T) and, where they are there, `padding_mask` (B, T), which
    is True at real tokens, and `sequence_ids` (B, T), where several texts share a row: each is then read by itself. It
    returns `logits` (B, T, V) of the next token at each one. What comes later, and what stands at padded positions,
    changes nothing.

    To write, `prefill` reads the prompts and `step` one token after the other; the logits are those of `call`. Caches
    grow where they are settled.

    Attributes:
        vocabulary_size: V, the number of token ids.
        max_sequence_length: the longest text in tokens.
    """

    vocabulary_size: int
    max_sequence_length: int

    @abstractmethod
    def empty_cache(self, batch_size: Any) -> Cache:
        """Return the cache of texts of which nothing was read."""
        raise NotImplementedError

    @abstractmethod
    def read(self, token_ids: Any, cache: Cache, padding_mask: Any = None) -> tuple[Any, Cache]:
        """Read more tokens of each text, padded at their ends.

        Args:
            token_ids: (B, T) int.
            cache: of what was read before.
            padding_mask: (B, T), True at real tokens; None stands for all.

        Returns:
            vectors (B, T, D), of each token, for `next_logits`; and the cache, with T more recent positions.
        """
        raise NotImplementedError

    @abstractmethod
    def next_logits(self, x: Any) -> Any:
        """Compute the logits of the tokens that come next: (..., D) -> (..., V) float32."""
        raise NotImplementedError

    def prefill(self, token_ids: Any, padding_mask: Any, cache: Cache | None = None) -> tuple[Any, Cache]:
        """Read prompts, or more of them.

        Args:
            token_ids: (B, T) int.
            padding_mask: (B, T), True at real tokens, of which each row has one at least.
            cache: of what stands before them; None for nothing.

        Returns:
            the logits (B, V) float32 after the last token of each, and the cache.
        """
        cache = self.empty_cache(ops.shape(token_ids)[0]) if cache is None else cache
        x, cache = self.read(token_ids, cache, padding_mask)
        last = ops.sum(ops.cast(padding_mask, "int32"), axis=1, keepdims=True) - 1
        return self.next_logits(pick(x, last)[:, 0]), cache

    def step(self, token_ids: Any, cache: Cache) -> tuple[Any, Cache]:
        """Read one token of each text, in a loop: the shapes of the cache stay.

        Args:
            token_ids: (B,) int.
            cache: a settled one, with a position that is free.

        Returns:
            the logits (B, V) float32 of the next token, and the cache.
        """
        x, cache = self.read(token_ids[:, None], cache)
        return self.next_logits(x[:, 0]), cache.without_oldest(1)

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards for layer-wise rates."""
        raise NotImplementedError


class EncoderDecoder(keras.Model):
    """A model that reads a source sequence and writes a target sequence, token by token.

    `call(features, training=False)` takes `token_ids` and `padding_mask` (B, S), `target_ids` (B, T) and, where rows
    are padded, `target_padding_mask` (B, T); it returns `logits` (B, T - 1, V): at each position, given the source and
    the target so far, those of the next token. To write, `encode` reads the source once, and `step` is called for
    one position after another. What stands at padded positions changes nothing at real ones.

    Several continuations of each source may be written side by side (beams): `step` then gets B W rows, those of a
    source next to each other, while the memory keeps B rows.

    Attributes:
        vocabulary_size: the number of source token ids.
        target_vocabulary_size: V, the number of target token ids.
        max_sequence_length: the longest S and T that it takes, in tokens.
        aligns: whether its steps return an alignment, the attention weights of the source tokens.
    """

    aligns: bool = True
    vocabulary_size: int
    target_vocabulary_size: int
    max_sequence_length: int

    @abstractmethod
    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        """Compute the memory of a source, all that steps need of it: a dictionary of tensors of B rows."""
        raise NotImplementedError

    @abstractmethod
    def empty_state(self, memory: dict[str, Any], max_length: int, num_beams: int = 1) -> Any:
        """Return the state before the first step, a nested structure of tensors.

        Steps keep its structure, shapes and types. It is of W = `num_beams` continuations of each source, and has room
        for `max_length` positions. If that is 0, axes of positions have length 0, and the decoding loop makes them
        longer with zeros; no other axis of a state is ever of length 0.
        """
        raise NotImplementedError

    def reorder(self, state: Any, beams: Any) -> Any:
        """Give each beam the state of the beam of the same source that it continues.

        By default the rows of the state's tensors, B W each, are put in their new order.

        Args:
            state: of the last step.
            beams: (B, W) int, 0 to W - 1, the beam that each continues.

        Returns:
            the state in its new order.
        """
        return reorder_rows(state, beams)

    @abstractmethod
    def step(self, token_ids: Any, index: Any, memory: dict[str, Any], state: Any) -> tuple[Any, Any, Any]:
        """Read the token of one position and compute the logits of the next.

        Args:
            token_ids: (B W,) int.
            index: the position, a scalar; 0 is that of the start.
            memory: of `encode`, B rows.
            state: of the last step or of `reorder`.

        Returns:
            the logits of the next token (B W, V) float32; the new state; and the alignment (B W, S) float32, attention
            weights of the source tokens that sum to 1, or None if the model has no attention.
        """
        raise NotImplementedError

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards for layer-wise rates."""
        raise NotImplementedError
