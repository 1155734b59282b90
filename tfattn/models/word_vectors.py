"""Skip-gram and CBOW: word vectors that predict nearby words."""

from typing import Annotated, Any

import keras
from keras import ops
from pydantic import Field, NonNegativeInt, PositiveInt

from tfattn.config.types import Size
from tfattn.features import SEQUENCE_OUTPUT, SUBWORD_IDS, TOKEN_IDS, WORDS_AFTER, WORDS_BEFORE
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.models.contracts.word_predictor import WordPredictor
from tfattn.ops.backend import upstream_gradient
from tfattn.ops.context_windows import WORDS_PER_NEGATIVE, in_blocks, near

# A block has a whole number of negative samples.
Block = Annotated[int, Field(gt=0, multiple_of=WORDS_PER_NEGATIVE)]


class WordTable(EmbeddingTable):
    """An embedding table that is initialized uniformly between -0.5 / D and 0.5 / D.

    Args:
        num_rows: V, the number of words.
        width: D.

    Source: the initialization of the word2vec code (Mikolov et al. 2013).
    """

    def build(self, input_shape: tuple | None = None) -> None:
        half = 0.5 / self.width
        initializer = keras.initializers.RandomUniform(minval=-half, maxval=half)
        self.embeddings = self.add_weight(
            name="embeddings", shape=(self.num_rows, self.width), initializer=initializer, autocast=False
        )


class WordModel(WordPredictor):
    """The base class of skip-gram and CBOW: word vectors, and texts that are split into blocks.

    Windows end with blocks, so that words of different blocks are never pairs. The blocks differ between epochs, since
    they depend on the subsampling of frequent words.

    With character n-grams the vector of a word is the mean of its own vector and the vectors of its n-grams, each of
    which gets the whole gradient of the mean.

    Args:
        vocabulary_size: V, the number of words.
        subword_buckets: the number of n-gram vectors.
        hidden_dim: D, the width of the vectors.
        block: L, the number of words of a block.

    Attributes:
        kind: the name of the model.
    """

    kind: str

    def __init__(
        self,
        *,
        vocabulary_size: Size[int],
        subword_buckets: Size[NonNegativeInt] = 0,
        hidden_dim: PositiveInt = 100,
        block: Block = 32,
    ):
        super().__init__(name=self.kind, autocast=False)
        self.vocabulary_size = vocabulary_size
        self.subword_buckets = subword_buckets
        self.hidden_dim = hidden_dim
        self.block = block
        self.words = WordTable(num_rows=vocabulary_size + subword_buckets, width=hidden_dim, name="words")
        self.words.build()
        self.built = True

    @property
    def table(self) -> keras.Variable:
        return self.words.embeddings

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [self.words.trainable_variables]

    def vectors_of(self, features: dict[str, Any]) -> Any:
        """Look up the words of each block: (B, N, L, D)."""
        subwords = in_blocks(features[SUBWORD_IDS], self.block) if self.subword_buckets else None
        return self.vectors(in_blocks(features[TOKEN_IDS], self.block), subwords)

    def vectors(self, token_ids: Any, subword_ids: Any = None) -> Any:
        if subword_ids is None:
            return self.words(token_ids)
        subword_rows = ops.where(subword_ids < 0, -1, subword_ids + self.vocabulary_size)
        rows = ops.concatenate([token_ids[..., None], subword_rows], axis=-1)
        is_valid = ops.cast(rows >= 0, "float32")[..., None, :]
        return ops.squeeze(_mean(is_valid, self.words(ops.maximum(rows, 0))), -2)  # (..., 1 + M, D) -> (..., D)

    def near(self, features: dict[str, Any]) -> Any:
        """Return which words of the block are in the window of each word: (B, N, L, L), 1 or 0."""
        return near(*(in_blocks(features[name], self.block) for name in (WORDS_BEFORE, WORDS_AFTER)))


class SkipGram(WordModel):
    """Skip-gram: each word predicts the words in its window.

    Args:
        vocabulary_size: V, the number of words; known from the preprocessing.
        subword_buckets: the number of character n-gram vectors; known from the preprocessing.
        hidden_dim: D, the width of the vectors.
        block: L, the number of words of a block, at which windows end. Larger blocks have more pairs, and more unused
            products of other words.

    Source: Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality", eq. 1;
    n-grams: Bojanowski et al. 2017, "Enriching word vectors with subword information", with the mean instead of the
    sum.
    """

    kind = "skip_gram"

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        return {SEQUENCE_OUTPUT: self.vectors_of(features)}

    def pairs(self, features: dict[str, Any]) -> Any:
        """Return the pairs of each word and the words in its window: (B, N, L, L), 1 or 0."""
        return self.near(features)

    def predicted(self, x: Any) -> Any:
        return ops.expand_dims(x, 2)

    def scores(self, vectors: Any, outputs: Any) -> Any:
        rows, blocks, words, each, width = ops.shape(outputs)
        others = ops.reshape(outputs, (rows, blocks, words * each, width))
        products = ops.matmul(vectors, ops.swapaxes(others, 2, 3))  # (B, N, L, L * M)
        return ops.reshape(products, (rows, blocks, words, words, each))


class Cbow(WordModel):
    """Continuous bag of words: the mean of the words in a window predicts a word.

    Args:
        vocabulary_size: V, the number of words; known from the preprocessing.
        subword_buckets: the number of character n-gram vectors; known from the preprocessing.
        hidden_dim: D, the width of the vectors.
        block: L, the number of words of a block, at which windows end.

    Source: Mikolov et al. 2013, "Efficient estimation of word representations in vector space", section 3.1, with the
    mean of the vectors instead of their sum. As in the word2vec code, each word gets the whole gradient of the mean.
    """

    kind = "cbow"

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        return {SEQUENCE_OUTPUT: _mean(self.near(features), self.vectors_of(features))}

    def pairs(self, features: dict[str, Any]) -> Any:
        """Return 1 for each word whose window has other words: (B, N, L, 1)."""
        return ops.max(self.near(features), axis=-1, keepdims=True)

    def predicted(self, x: Any) -> Any:
        return ops.expand_dims(x, 3)

    def scores(self, vectors: Any, outputs: Any) -> Any:
        return ops.expand_dims(ops.sum(ops.expand_dims(vectors, 3) * outputs, axis=-1), 3)


def _mean(is_near: Any, vectors: Any) -> Any:
    """Compute means of vectors, whose whole gradient goes to each vector.

    Args:
        is_near: (..., N, M) float32, 1 or 0, which of M vectors are in each mean.
        vectors: (..., M, D).

    Returns:
        (..., N, D), zeros for a mean without vectors.
    """

    @ops.custom_gradient
    def mean(vectors: Any) -> tuple[Any, Any]:
        fraction = 1.0 / ops.maximum(ops.sum(is_near, axis=-1, keepdims=True), 1.0)

        def gradient(*arguments: Any, upstream: Any = None) -> Any:
            outer = upstream_gradient(arguments, upstream)
            return ops.matmul(ops.swapaxes(is_near, -1, -2), outer)

        return ops.matmul(is_near, vectors) * fraction, gradient

    return mean(vectors)
