"""Skip-gram sampling of word2vec: subsampled frequent words, random window sizes and negative samples."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfattn.data.examples.transforms import Batch, Transform
from tfattn.data.splitmix64 import integers, uniform
from tfattn.features import NEGATIVE_IDS, PADDING_MASK, SEQUENCE_IDS, TOKEN_IDS, WORDS_AFTER, WORDS_BEFORE
from tfattn.ops.context_windows import WORDS_PER_NEGATIVE

SUBSAMPLE, WINDOW, NEGATIVE, ALIAS_CHOICE = range(4)  # independent random streams of a record


class SkipGramSampling(Transform):
    """Skip-gram sampling of (center, context) pairs and of negative samples.

    Words that subsampling drops leave no gap: windows extend across them.

    Args:
        counts: (V,), the number of occurrences of each word in the training texts.
        window: the maximum number of context words on each side; the number of each word is uniform in [1, window].
        sample: threshold of subsampling, see `keep_probabilities`; None keeps every word.
        noise_power: negative samples are drawn with probability proportional to their counts to this power.
    """

    targets = (WORDS_BEFORE, WORDS_AFTER, NEGATIVE_IDS)

    def __init__(self, counts: np.ndarray, *, window: int, sample: float | None, noise_power: float):
        self._window = window
        self._size = len(counts)
        self._keep_probabilities = None if sample is None else keep_probabilities(counts, sample)
        self._thresholds, self._aliases = alias_table(np.asarray(counts, np.float64) ** noise_power)

    def __call__(self, batch: Batch, seeds: tf.Tensor) -> dict[str, tf.Tensor]:
        token_ids, mask = batch[TOKEN_IDS], batch[PADDING_MASK]
        sequences = batch[SEQUENCE_IDS]
        if self._keep_probabilities is not None:
            mask &= uniform(seeds, tf.shape(mask)[1], draw=SUBSAMPLE) < tf.gather(self._keep_probabilities, token_ids)
            lengths = tf.math.count_nonzero(mask, axis=1)
            token_ids, sequences = (
                tf.RaggedTensor.from_row_lengths(tf.boolean_mask(x, mask), lengths, validate=False).to_tensor()
                for x in (token_ids, sequences)
            )
            mask = tf.sequence_mask(lengths)
        width = tf.shape(mask)[1]
        windows = 1 + integers(seeds, width, below=self._window, draw=WINDOW)
        before, after = (tf.where(mask, tf.minimum(windows, count), 0) for count in context_positions(sequences))
        sampled = {
            TOKEN_IDS: token_ids,
            SEQUENCE_IDS: sequences,
            PADDING_MASK: mask,
            WORDS_BEFORE: before,
            WORDS_AFTER: after,
            NEGATIVE_IDS: self._negatives(seeds, -(-width // WORDS_PER_NEGATIVE)),
        }
        return {**batch, **sampled}

    def _negatives(self, seeds: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
        """Draw negative samples: (B, count) int32."""
        words = integers(seeds, count, below=self._size, draw=NEGATIVE)
        is_alias = uniform(seeds, count, draw=ALIAS_CHOICE) >= tf.gather(self._thresholds, words)
        return tf.where(is_alias, tf.gather(self._aliases, words), words)


def context_positions(sequences: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Count the words before and after each word in its text.

    Args:
        sequences: (B, T) int32, the text of each word; the words of a text are adjacent.

    Returns:
        (B, T) int32 each.
    """
    is_first = tf.reshape(tf.pad(sequences[:, 1:] != sequences[:, :-1], [[0, 0], [1, 0]], constant_values=True), [-1])
    positions = tf.range(tf.size(sequences))
    bounds = tf.concat([tf.boolean_mask(positions, is_first), [tf.size(sequences)]], axis=0)
    text = tf.cumsum(tf.cast(is_first, tf.int32)) - 1
    before = positions - tf.gather(bounds, text)
    after = tf.gather(bounds, text + 1) - 1 - positions
    return tf.reshape(before, tf.shape(sequences)), tf.reshape(after, tf.shape(sequences))


def keep_probabilities(counts: Sequence[int], sample: float) -> np.ndarray:
    """Compute the probability that subsampling keeps an occurrence of each word.

    The probability is (sqrt(z / t) + 1) t / z, at most 1, for a word's fraction z of all words and the threshold t.
    This is the formula of the word2vec code and of gensim; the paper's (eq. 5, sqrt(t / z)) keeps slightly less.

    Args:
        counts: (V,).
        sample: t.

    Returns:
        (V,) float32.
    """
    ratio = sample * np.sum(counts, dtype=np.float64) / np.asarray(counts, np.float64)
    return np.minimum(np.sqrt(ratio) + ratio, 1.0).astype(np.float32)


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Build the alias table for sampling of indices by weight in constant time.

    Sample an index uniformly; keep it with its threshold as probability, else replace it by its alias.

    Args:
        weights: (V,), positive.

    Returns:
        thresholds (V,) float32 and aliases (V,) int32.

    Source: Vose 1991, "A linear algorithm for generating random numbers with a given distribution".
    """
    thresholds = np.asarray(weights, np.float64) * len(weights) / np.sum(weights)
    aliases = np.arange(len(weights), dtype=np.int32)
    order = np.argsort(thresholds, kind="stable").tolist()
    remaining = thresholds.tolist()
    low, high = 0, len(order) - 1  # the smallest and the largest open index
    while low < high:
        small, large = order[low], order[high]
        if remaining[small] >= 1.0:
            break
        aliases[small] = large
        remaining[large] -= 1.0 - remaining[small]
        low += 1
        if remaining[large] < 1.0:
            # The large index now needs an alias itself, so it becomes the next small index.
            order[low - 1], high = large, high - 1
            low -= 1
    return np.minimum(np.array(remaining), 1.0).astype(np.float32), aliases
