"""Exported word vectors: the vector of a word, its neighbors, analogies.

The neighbor search is the graph version of `WordVectors.nearest` in vectors/word_vectors.py: an export must run in
TensorFlow alone, and files of vectors are queried without TensorFlow.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfattn.export.served import Columns, Comparison, Served
from tfattn.features import SUBWORD_VECTORS, WORD_VECTORS
from tfattn.trained.ensemble import TrainedEnsemble

WORD = "word"
NEIGHBORS, ANALOGY = "neighbors", "analogy"
POSITIVE, NEGATIVE = "positive", "negative"
FEW, MOST = 10, 1000  # words that are told where a request does not say, and at most
MOST_QUESTIONS = 100


class Table(NamedTuple):
    """Words with their vectors, as they were trained.

    Attributes:
        words: V of them.
        vectors: (V, D) float32.
    """

    words: Sequence[str]
    vectors: np.ndarray

    def predict(self, rows: Sequence[Mapping[str, str]]) -> dict[str, np.ndarray]:
        """Return the vectors of N known words: (N, D)."""
        places = {word: place for place, word in enumerate(self.words)}
        return {"vectors": self.vectors[[places[row[WORD]] for row in rows]]}


class WordLookup(Served):
    """Looks words up, written as texts may have them, and tells those whose vectors are nearest by angle.

        serving_default   word (B,) -> vector (B, D) float32, zeros where it has none; known (B,) bool, whether it is in
                          the vocabulary; count (B,) int64, how often it stands in the training texts
        neighbors         word (B,), k () int32, 10 by default -> the K nearest words but for itself, best first: word
                          (B, K), score (B, K) float32, the cosine
        analogy           positive (B, P), negative (B, N), k () -> the same of the sum of positive words less the
                          negative ones, each of length 1, but for these words; "" is none

    An unknown word has the mean of the vectors of its n-grams of characters, where such were trained; neighbors and
    analogies of words without a vector are refused. K is as many as there are, where that is less than k.

    Args:
        ensemble: the trained model, one alone, whose task makes the vectors of the `words` of its preprocessor. That
            also has `counts`, `lookup` and, where its model has vectors of n-grams, `subword_ids`.

    Raises:
        ExportError: the task computes in another type than float32.

    Source: Mikolov et al. 2013, "Linguistic Regularities in Continuous Space Word Representations".
    """

    shown_metrics = ("loss", "baseline_loss")

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, name="word_lookup")
        task = ensemble.task
        tables = {WORD_VECTORS: tf.constant(task.word_vectors())}
        if task.model.subword_buckets:
            tables[SUBWORD_VECTORS] = tf.convert_to_tensor(task.model.table)[task.model.vocabulary_size :]
        # Alone of all weights: what else a model was trained with, nobody asks for.
        self.weights = [tf.Variable(table, trainable=False) for table in tables.values()]
        self.weight_names = tuple(tables)
        (self._known,) = self.preprocessors
        # Made here and not in the functions, each of which would hold a copy.
        self._words = tf.constant(self._known.words, tf.string)
        self._counts = tf.constant(self._known.counts, tf.int64)
        self._inverse_norms = tf.math.divide_no_nan(1.0, tf.norm(tables[WORD_VECTORS], axis=1))

    @property
    def ensemble(self) -> Table:
        """What questions are answered by."""
        return Table(self._known.words, self.weights[0].numpy())

    @property
    def raw_fields(self) -> dict[str, str]:
        return {WORD: WORD}

    def questions(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Choose words, taken evenly from frequent to rare; rows are not asked."""
        words = self._known.words
        places = np.linspace(0, len(words) - 1, min(MOST_QUESTIONS, len(words))).astype(int)
        return [{WORD: words[place], "row": f"word {place + 1:,}"} for place in places]

    def signatures(self) -> dict[str, Any]:
        one = tf.TensorSpec([None], tf.string, name=WORD)
        several = [tf.TensorSpec([None, None], tf.string, name=name) for name in (POSITIVE, NEGATIVE)]
        number = tf.TensorSpec([], tf.int32, name="k")
        few = tf.constant(FEW, tf.int32)

        def neighbors(word, k=few):
            return self._nearest(word[:, None], tf.ones_like(word[:, None], tf.float32), k)

        def analogy(positive, negative, k=few):
            signs = [tf.ones_like(positive, tf.float32), -tf.ones_like(negative, tf.float32)]
            return self._nearest(tf.concat([positive, negative], axis=1), tf.concat(signs, axis=1), k)

        return {
            "serving_default": tf.function(self._vectors, input_signature=[one], autograph=False),
            NEIGHBORS: tf.function(neighbors, input_signature=[one, number], autograph=False),
            ANALOGY: tf.function(analogy, input_signature=[*several, number], autograph=False),
        }

    def about(self) -> dict[str, Any]:
        return {"inputs": {WORD: {"kind": "category", "values": None, "no_value": None}}, "entries": {}}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
        return {WORD: [row[WORD] for row in rows]}

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield a word and several, then the other signatures."""
        words = self.request(rows)[WORD]
        for some in (words[:1], words):
            yield "serving_default", {WORD: some}
            yield NEIGHBORS, {WORD: some, "k": FEW}
        yield ANALOGY, {POSITIVE: [words[:2]], NEGATIVE: [words[-1:]], "k": FEW}

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Vectors are to be about the same."""
        difference = np.abs(np.asarray(received["vector"], np.float64) - expected["vectors"]).max(axis=1)
        is_known = np.asarray(received["known"], bool)
        is_right = (difference <= tolerance) & is_known  # so written, NaN is wrong too
        return Comparison(
            wrong=~is_right,
            report={"max_vector_difference": float(difference.max())},
            words=f"{is_right.sum()} of {len(is_right)} words have their vectors, "
            f"which differ by at most {difference.max():.2g} (allowed: {tolerance:g})",
            expected=lambda row: f"its vector within {tolerance:g}",
            received=lambda row: f"one off by {difference[row]:.3g}" if is_known[row] else "no vector",
        )

    def _vectors(self, word: tf.Tensor) -> dict[str, tf.Tensor]:
        ids = self._known.lookup(word)
        vectors, _ = self._word_vectors(word, ids)
        return {
            "vector": vectors,
            "known": ids >= 0,
            "count": tf.where(ids >= 0, tf.gather(self._counts, tf.maximum(ids, 0)), 0),
        }

    def _word_vectors(self, words: tf.Tensor, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the vectors of words (N, D), zeros where there is none, and which have one (N,)."""
        known = ids >= 0
        vectors = tf.where(known[:, None], tf.gather(self.weights[0], tf.maximum(ids, 0)), 0.0)
        if len(self.weights) == 1:
            return vectors, known
        subwords = self._known.subword_ids(words)  # (N, M)
        is_there = subwords >= 0
        made = tf.gather(self.weights[1], tf.maximum(subwords, 0)) * tf.cast(is_there, tf.float32)[:, :, None]
        number = tf.reduce_sum(tf.cast(is_there, tf.float32), axis=1, keepdims=True)
        made = tf.math.divide_no_nan(tf.reduce_sum(made, axis=1), number)  # (N, M, D) -> (N, D)
        return tf.where(known[:, None], vectors, made), known | tf.reduce_any(is_there, axis=1)

    def _nearest(self, words: tf.Tensor, signs: tf.Tensor, k: tf.Tensor) -> dict[str, tf.Tensor]:
        """Find the words nearest to sums.

        Args:
            words: (B, M), "" for none.
            signs: (B, M), 1 or -1.
            k: ().
        """
        flat = tf.reshape(words, [-1])
        ids = self._known.lookup(flat)
        vectors, has_one = self._word_vectors(flat, ids)
        ids, has_one = tf.reshape(ids, tf.shape(words)), tf.reshape(has_one, tf.shape(words))
        is_there = words != ""
        with tf.control_dependencies(_checks(words, has_one, is_there, k)):
            ids = tf.where(is_there, ids, -1)
        signs = tf.reshape(signs * tf.cast(is_there, tf.float32), [-1, 1])
        vectors = tf.math.divide_no_nan(vectors, tf.norm(vectors, axis=1, keepdims=True)) * signs
        sums = tf.reduce_sum(tf.reshape(vectors, tf.concat([tf.shape(words), [vectors.shape[1]]], axis=0)), axis=1)
        sums = tf.math.divide_no_nan(sums, tf.norm(sums, axis=1, keepdims=True))  # (B, M, D) -> (B, D)
        num_rows, num_words = tf.shape(ids)[0], tf.shape(ids)[1]
        k = tf.clip_by_value(tf.size(self._words) - num_words, 0, k)

        def nearest(row):
            scores = tf.linalg.matvec(self.weights[0], row[0]) * self._inverse_norms  # (V,)
            own = tf.boolean_mask(row[1], row[1] >= 0)[:, None]
            scores = tf.tensor_scatter_nd_update(scores, own, tf.fill([tf.size(own)], -np.inf))
            return tuple(tf.math.top_k(scores, k))

        # One row at a time, so that no request needs memory for the scores of all of its rows. No rows are one.
        none = [[0, tf.cast(num_rows == 0, tf.int32)], [0, 0]]
        rows = tf.pad(sums, none), tf.pad(ids, none, constant_values=-1)
        kinds = tf.TensorSpec([None], tf.float32), tf.TensorSpec([None], tf.int32)
        scores, indices = tf.map_fn(nearest, rows, fn_output_signature=kinds, parallel_iterations=1)
        return {"word": tf.gather(self._words, indices[:num_rows]), "score": scores[:num_rows]}


def _checks(words: tf.Tensor, has_one: tf.Tensor, is_there: tf.Tensor, k: tf.Tensor) -> list[tf.Operation]:
    """Refuse words without vectors, rows without words, and a wrong k."""
    unknown = tf.where(is_there & ~has_one)[:1]  # row and place of the first
    word = tf.strings.reduce_join(tf.gather_nd(words, unknown))
    empty = tf.where(~tf.reduce_any(is_there, axis=1))[:1]
    return [
        tf.debugging.Assert(
            (k >= 1) & (k <= MOST), [tf.strings.join([f"k: expected 1 to {MOST}, received ", _text(k)])]
        ),
        tf.debugging.Assert(tf.size(empty) == 0, [tf.strings.join(["row ", _row(empty), " has no word"])]),
        tf.debugging.Assert(
            tf.size(unknown) == 0,
            [tf.strings.join(["there is no vector of the word `", word, "` in row ", _row(unknown[:, :1])])],
        ),
    ]


def _row(places: tf.Tensor) -> tf.Tensor:
    return tf.strings.reduce_join(_text(places + 1))


_text = tf.strings.as_string
