"""The export of word vectors: vectors, nearest neighbors and analogies."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfattn.export.servable_model import Columns, Comparison, ServableModel
from tfattn.features import SUBWORD_VECTORS, WORD_VECTORS
from tfattn.trained.ensemble import TrainedEnsemble

WORD = "word"
NEIGHBORS, ANALOGY = "neighbors", "analogy"
POSITIVE, NEGATIVE = "positive", "negative"
DEFAULT_K, MAX_K = 10, 1000  # number of neighbors
MAX_QUESTIONS = 100


class Table(NamedTuple):
    """Trained word vectors.

    Attributes:
        words: V words.
        vectors: (V, D) float32.
    """

    words: Sequence[str]
    vectors: np.ndarray

    def predict(self, rows: Sequence[Mapping[str, str]]) -> dict[str, np.ndarray]:
        """Return the vectors of N words of the vocabulary: (N, D)."""
        positions = {word: index for index, word in enumerate(self.words)}
        return {"vectors": self.vectors[[positions[row[WORD]] for row in rows]]}


class WordLookup(ServableModel):
    """An export that looks up word vectors and searches the nearest words by cosine similarity.

        serving_default   word (B,) -> vector (B, D) float32, zeros for words without a vector; known (B,) bool, whether
                          the word is in the vocabulary; count (B,) int64, its frequency in the training texts
        neighbors         word (B,), k () int32, 10 by default -> the K nearest other words, best first: word (B, K),
                          score (B, K) float32, the cosine similarity
        analogy           positive (B, P), negative (B, N), k () -> the K words nearest to the sum of the positive unit
                          vectors minus the negative unit vectors, without these words; "" is padding

    The vector of an unknown word is the mean of the vectors of its character n-grams, if the model has them.
    `neighbors` and `analogy` fail for words without a vector. K is the smaller of k and the number of candidates.

    Args:
        ensemble: a single trained model. Its task computes the vectors of the preprocessor's `words`; the preprocessor
            also has `counts`, `lookup`, and `subword_ids` if the model has n-gram vectors.

    Raises:
        ExportError: the task does not compute in float32.

    Source: Mikolov et al. 2013, "Linguistic Regularities in Continuous Space Word Representations".
    """

    headline_metrics = ("loss", "baseline_loss")

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="word_lookup")
        task = ensemble.task
        tables = {WORD_VECTORS: tf.constant(task.word_vectors())}
        if task.model.subword_buckets:
            tables[SUBWORD_VECTORS] = tf.convert_to_tensor(task.model.table)[task.model.vocabulary_size :]
        # Only these weights are exported: the output weights are not needed.
        self.weights = [tf.Variable(table, trainable=False) for table in tables.values()]
        self.weight_names = tuple(tables)
        (self._known,) = self.preprocessors
        # Shared constants: constants inside of the functions would be saved once per function.
        self._words = tf.constant(self._known.words, tf.string)
        self._counts = tf.constant(self._known.counts, tf.int64)
        # (V,), factors that normalize vectors to unit length
        self._scales = tf.math.divide_no_nan(1.0, tf.norm(tables[WORD_VECTORS], axis=1))

    @property
    def ensemble(self) -> Table:
        """The table that computes the expected outputs."""
        return Table(self._known.words, self.weights[0].numpy())

    @property
    def raw_fields(self) -> dict[str, str]:
        return {WORD: WORD}

    def questions(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Return words of the vocabulary, evenly spaced from frequent to rare; rows are ignored."""
        words = self._known.words
        positions = np.linspace(0, len(words) - 1, min(MAX_QUESTIONS, len(words))).astype(int)
        return [{WORD: words[index], "row": f"word {index + 1:,}"} for index in positions]

    def signatures(self) -> dict[str, Any]:
        word_spec = tf.TensorSpec([None], tf.string, name=WORD)
        lists = [tf.TensorSpec([None, None], tf.string, name=name) for name in (POSITIVE, NEGATIVE)]
        number = tf.TensorSpec([], tf.int32, name="k")
        default_k = tf.constant(DEFAULT_K, tf.int32)

        def neighbors(word, k=default_k):
            return self._nearest(word[:, None], tf.ones_like(word[:, None], tf.float32), k)

        def analogy(positive, negative, k=default_k):
            signs = [tf.ones_like(positive, tf.float32), -tf.ones_like(negative, tf.float32)]
            return self._nearest(tf.concat([positive, negative], axis=1), tf.concat(signs, axis=1), k)

        return {
            "serving_default": tf.function(self._vectors, input_signature=[word_spec], autograph=False),
            NEIGHBORS: tf.function(neighbors, input_signature=[word_spec, number], autograph=False),
            ANALOGY: tf.function(analogy, input_signature=[*lists, number], autograph=False),
        }

    def metadata(self) -> dict[str, Any]:
        return {"inputs": {WORD: {"kind": "category", "values": None, "no_value": None}}, "entries": {}}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        return {WORD: [row[WORD] for row in rows]}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield batches of one word and of several words for each signature."""
        words = self.request(rows)[WORD]
        for batch in (words[:1], words):
            yield "serving_default", {WORD: batch}
            yield NEIGHBORS, {WORD: batch, "k": DEFAULT_K}
        yield ANALOGY, {POSITIVE: [words[:2]], NEGATIVE: [words[-1:]], "k": DEFAULT_K}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare vectors within the tolerance."""
        difference = np.abs(np.asarray(received["vector"], np.float64) - expected["vectors"]).max(axis=1)
        is_known = np.asarray(received["known"], bool)
        is_right = (difference <= tolerance) & is_known  # NaN counts as wrong
        return Comparison(
            wrong=~is_right,
            report={"max_vector_difference": float(difference.max())},
            words=f"{is_right.sum()} of {len(is_right)} words have their vectors, "
            f"which differ by at most {difference.max():.2g} (allowed: {tolerance:g})",
            expected=lambda row: f"its vector within {tolerance:g}",
            received=lambda row: f"a vector off by {difference[row]:.3g}" if is_known[row] else "no vector",
        )

    def _vectors(self, word: tf.Tensor) -> dict[str, tf.Tensor]:
        ids = self._known.lookup(word)
        vectors, _ = self._lookup(word, ids)
        return {
            "vector": vectors,
            "known": ids >= 0,
            "count": tf.where(ids >= 0, tf.gather(self._counts, tf.maximum(ids, 0)), 0),
        }

    def _lookup(self, words: tf.Tensor, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the word vectors (N, D), zeros for words without a vector, and which words have a vector (N,)."""
        known = ids >= 0
        vectors = tf.where(known[:, None], tf.gather(self.weights[0], tf.maximum(ids, 0)), 0.0)
        if len(self.weights) == 1:
            return vectors, known
        subwords = self._known.subword_ids(words)  # (N, M)
        is_there = subwords >= 0
        mean = tf.gather(self.weights[1], tf.maximum(subwords, 0)) * tf.cast(is_there, tf.float32)[:, :, None]
        number = tf.reduce_sum(tf.cast(is_there, tf.float32), axis=1, keepdims=True)
        mean = tf.math.divide_no_nan(tf.reduce_sum(mean, axis=1), number)  # (N, M, D) -> (N, D)
        return tf.where(known[:, None], vectors, mean), known | tf.reduce_any(is_there, axis=1)

    def _nearest(self, words: tf.Tensor, signs: tf.Tensor, k: tf.Tensor) -> dict[str, tf.Tensor]:
        """Return the words nearest to signed sums of unit vectors.

        Args:
            words: (B, M), padded with "".
            signs: (B, M), 1 or -1.
            k: ().
        """
        flat = tf.reshape(words, [-1])
        ids = self._known.lookup(flat)
        vectors, has_vector = self._lookup(flat, ids)
        ids, has_vector = tf.reshape(ids, tf.shape(words)), tf.reshape(has_vector, tf.shape(words))
        is_there = words != ""
        with tf.control_dependencies(_checks(words, has_vector, is_there, k)):
            ids = tf.where(is_there, ids, -1)
        signs = tf.reshape(signs * tf.cast(is_there, tf.float32), [-1, 1])
        vectors = tf.math.divide_no_nan(vectors, tf.norm(vectors, axis=1, keepdims=True)) * signs
        sums = tf.reduce_sum(tf.reshape(vectors, tf.concat([tf.shape(words), [vectors.shape[1]]], axis=0)), axis=1)
        sums = tf.math.divide_no_nan(sums, tf.norm(sums, axis=1, keepdims=True))  # (B, M, D) -> (B, D)
        num_rows, num_words = tf.shape(ids)[0], tf.shape(ids)[1]
        k = tf.clip_by_value(tf.size(self._words) - num_words, 0, k)

        def nearest(row):
            scores = tf.linalg.matvec(self.weights[0], row[0]) * self._scales  # (V,)
            own = tf.boolean_mask(row[1], row[1] >= 0)[:, None]
            scores = tf.tensor_scatter_nd_update(scores, own, tf.fill([tf.size(own)], -np.inf))
            return tuple(tf.math.top_k(scores, k))

        # One row at a time bounds the memory for scores. A request without rows gets a dummy row, for map_fn.
        none = [[0, tf.cast(num_rows == 0, tf.int32)], [0, 0]]
        rows = tf.pad(sums, none), tf.pad(ids, none, constant_values=-1)
        kinds = tf.TensorSpec([None], tf.float32), tf.TensorSpec([None], tf.int32)
        scores, indices = tf.map_fn(nearest, rows, fn_output_signature=kinds, parallel_iterations=1)
        return {"word": tf.gather(self._words, indices[:num_rows]), "score": scores[:num_rows]}


def _checks(words: tf.Tensor, has_vector: tf.Tensor, is_there: tf.Tensor, k: tf.Tensor) -> list[tf.Operation]:
    """Return assertions that all words have vectors, all rows have words, and k is valid."""
    unknown = tf.where(is_there & ~has_vector)[:1]  # row and index of the first
    word = tf.strings.reduce_join(tf.gather_nd(words, unknown))
    empty = tf.where(~tf.reduce_any(is_there, axis=1))[:1]
    return [
        tf.debugging.Assert(
            (k >= 1) & (k <= MAX_K), [tf.strings.join([f"k: expected 1 to {MAX_K}, received ", _text(k)])]
        ),
        tf.debugging.Assert(tf.size(empty) == 0, [tf.strings.join(["row ", _row(empty), " has no word"])]),
        tf.debugging.Assert(
            tf.size(unknown) == 0,
            [tf.strings.join(["there is no vector of the word `", word, "` in row ", _row(unknown[:, :1])])],
        ),
    ]


def _row(positions: tf.Tensor) -> tf.Tensor:
    return tf.strings.reduce_join(_text(positions + 1))


_text = tf.strings.as_string
