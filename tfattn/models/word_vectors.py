"""Models that learn a vector of each word, and nothing else, by predicting words that stand near each other."""

from typing import Annotated, Any

import keras
from keras import ops
from pydantic import Field, NonNegativeInt, PositiveInt

from tfattn.config.types import Size
from tfattn.features import SEQUENCE_OUTPUT, SUBWORD_IDS, TOKEN_IDS, WORDS_AFTER, WORDS_BEFORE
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.models.contracts.word_predictor import WordPredictor
from tfattn.ops.backend import upstream_gradient
from tfattn.ops.context_windows import WORDS_PER_NOISE, in_blocks, near

# So that each has a whole number of the words drawn at random, which are cut into as many blocks.
Block = Annotated[int, Field(gt=0, multiple_of=WORDS_PER_NOISE)]


class WordTable(EmbeddingTable):
    """A table of vectors, looked up by id, whose numbers begin evenly spread between -0.5 / D and 0.5 / D.

    Args:
        num_rows: V, the number of words.
        width: D.

    Source: the code of word2vec (Mikolov et al. 2013), whose vectors begin so.
    """

    def build(self, input_shape: tuple | None = None) -> None:
        half = 0.5 / self.width
        initializer = keras.initializers.RandomUniform(minval=-half, maxval=half)
        self.embeddings = self.add_weight(
            name="embeddings", shape=(self.num_rows, self.width), initializer=initializer, autocast=False
        )


class WordModel(WordPredictor):
    """What is common to skip-gram and CBOW: the vectors, and texts that are cut into blocks.

    Words in different blocks never meet: windows end with blocks. Where blocks are cut follows from which frequent
    words are left out, so it differs between epochs.

    Where n-grams of characters have vectors too, the vector of a word is the mean of its own and theirs, and the whole
    gradient of the mean goes to each.

    Args:
        vocabulary_size: V, the number of words.
        subword_buckets: how many n-grams have vectors.
        hidden_dim: D, the width of the vectors.
        block: L, how many words are computed together.

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
        """Look the words of each block up: (B, N, L, D)."""
        subwords = in_blocks(features[SUBWORD_IDS], self.block) if self.subword_buckets else None
        return self.vectors(in_blocks(features[TOKEN_IDS], self.block), subwords)

    def vectors(self, token_ids: Any, subword_ids: Any = None) -> Any:
        if subword_ids is None:
            return self.words(token_ids)
        of_subwords = ops.where(subword_ids < 0, -1, subword_ids + self.vocabulary_size)
        rows = ops.concatenate([token_ids[..., None], of_subwords], axis=-1)
        is_there = ops.cast(rows >= 0, "float32")[..., None, :]
        return ops.squeeze(_mean(is_there, self.words(ops.maximum(rows, 0))), -2)  # (..., 1 + M, D) -> (..., D)

    def near(self, features: dict[str, Any]) -> Any:
        """Tell which words of its block stand in the window of each word: (B, N, L, L), 1 or 0."""
        return near(*(in_blocks(features[name], self.block) for name in (WORDS_BEFORE, WORDS_AFTER)))


class SkipGram(WordModel):
    """Each word predicts those in its window.

    Args:
        vocabulary_size: V, the number of words; known from the preprocessing.
        subword_buckets: how many n-grams of characters have vectors; known from the preprocessing.
        hidden_dim: D, the width of the vectors.
        block: L, how many words are computed together: windows end with blocks. In larger ones there are more pairs,
            and more products of words that are none.

    Source: Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality", eq. 1;
    of n-grams Bojanowski et al. 2017, "Enriching word vectors with subword information", with the mean for the sum.
    """

    kind = "skip_gram"

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        return {SEQUENCE_OUTPUT: self.vectors_of(features)}

    def pairs(self, features: dict[str, Any]) -> Any:
        """Each word and those in its window: (B, N, L, L), 1 or 0."""
        return self.near(features)

    def predicted(self, x: Any) -> Any:
        return ops.expand_dims(x, 2)

    def scores(self, vectors: Any, outputs: Any) -> Any:
        rows, blocks, words, each, width = ops.shape(outputs)
        others = ops.reshape(outputs, (rows, blocks, words * each, width))
        products = ops.matmul(vectors, ops.swapaxes(others, 2, 3))  # (B, N, L, L * M)
        return ops.reshape(products, (rows, blocks, words, words, each))


class Cbow(WordModel):
    """A continuous bag of words: those in its window together predict a word.

    Args:
        vocabulary_size: V, the number of words; known from the preprocessing.
        subword_buckets: how many n-grams of characters have vectors; known from the preprocessing.
        hidden_dim: D, the width of the vectors.
        block: L, how many words are computed together: windows end with blocks.

    Source: Mikolov et al. 2013, "Efficient estimation of word representations in vector space", section 3.1, with the
    mean of the vectors in place of their sum. As in word2vec's own code, the whole gradient of the mean goes to each of
    the words.
    """

    kind = "cbow"

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        return {SEQUENCE_OUTPUT: _mean(self.near(features), self.vectors_of(features))}

    def pairs(self, features: dict[str, Any]) -> Any:
        """Each word alone, if there are others in its window: (B, N, L, 1), 1 or 0."""
        return ops.max(self.near(features), axis=-1, keepdims=True)

    def predicted(self, x: Any) -> Any:
        return ops.expand_dims(x, 3)

    def scores(self, vectors: Any, outputs: Any) -> Any:
        return ops.expand_dims(ops.sum(ops.expand_dims(vectors, 3) * outputs, axis=-1), 3)


def _mean(is_near: Any, vectors: Any) -> Any:
    """Average the vectors that belong together, and hand the gradient of the mean to each of them whole.

    Args:
        is_near: (..., N, M) float32, 1 or 0, which of M vectors belong to each mean.
        vectors: (..., M, D).

    Returns:
        (..., N, D), zeros where there is none.
    """

    @ops.custom_gradient
    def mean(vectors: Any) -> tuple[Any, Any]:
        fraction = 1.0 / ops.maximum(ops.sum(is_near, axis=-1, keepdims=True), 1.0)

        def gradient(*arguments: Any, upstream: Any = None) -> Any:
            outer = upstream_gradient(arguments, upstream)
            return ops.matmul(ops.swapaxes(is_near, -1, -2), outer)

        return ops.matmul(is_near, vectors) * fraction, gradient

    return mean(vectors)
