"""What word vectors draw at random: frequent words to leave out, how far words see, and words of no relation."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfattn.data.transforms import Batch, Transform, integers, uniform
from tfattn.features import NOISE_IDS, PADDING_MASK, SEQUENCE_IDS, TOKEN_IDS, WORDS_AFTER, WORDS_BEFORE
from tfattn.ops.context_windows import WORDS_PER_NEGATIVE

LEFT_OUT, WINDOW, NOISE, EITHER = range(4)  # draws of a record


class WordDrawing(Transform):
    """Leaves frequent words out at random, and draws the window of each word that is left, and noise.

    Words that are left out leave no gap: windows reach over them.

    Args:
        counts: (V,), how often each word stands in the training texts.
        window: the most words on each side of a word that belong to its window; how many is drawn evenly.
        sample: see `kept`.
        noise_power: words are drawn by their counts to the power of this.
    """

    targets = (WORDS_BEFORE, WORDS_AFTER, NOISE_IDS)

    def __init__(self, counts: np.ndarray, *, window: int, sample: float | None, noise_power: float):
        self._window = window
        self._size = len(counts)
        self._kept = None if sample is None else kept(counts, sample)
        self._chances, self._others = alias_table(np.asarray(counts, np.float64) ** noise_power)

    def __call__(self, batch: Batch, seeds: tf.Tensor) -> dict[str, tf.Tensor]:
        token_ids, mask = batch[TOKEN_IDS], batch[PADDING_MASK]
        sequences = batch[SEQUENCE_IDS]
        if self._kept is not None:
            mask &= uniform(seeds, tf.shape(mask)[1], draw=LEFT_OUT) < tf.gather(self._kept, token_ids)
            left = tf.math.count_nonzero(mask, axis=1)
            token_ids, sequences = (
                tf.RaggedTensor.from_row_lengths(tf.boolean_mask(x, mask), left, validate=False).to_tensor()
                for x in (token_ids, sequences)
            )
            mask = tf.sequence_mask(left)
        width = tf.shape(mask)[1]
        windows = 1 + integers(seeds, width, below=self._window, draw=WINDOW)
        before, after = (tf.where(mask, tf.minimum(windows, others), 0) for others in others_of_text(sequences))
        drawn = {
            TOKEN_IDS: token_ids,
            SEQUENCE_IDS: sequences,
            PADDING_MASK: mask,
            WORDS_BEFORE: before,
            WORDS_AFTER: after,
            NOISE_IDS: self._noise(seeds, -(-width // WORDS_PER_NEGATIVE)),
        }
        return {**batch, **drawn}

    def _noise(self, seeds: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
        """Draw words: (B, count) int32."""
        words = integers(seeds, count, below=self._size, draw=NOISE)
        is_other = uniform(seeds, count, draw=EITHER) >= tf.gather(self._chances, words)
        return tf.where(is_other, tf.gather(self._others, words), words)


def others_of_text(sequences: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Count how many words of its text stand before each word, and behind it.

    Args:
        sequences: (B, T) int32, which text each word is of; those of a text stand together.

    Returns:
        (B, T) int32 each.
    """
    begins = tf.reshape(tf.pad(sequences[:, 1:] != sequences[:, :-1], [[0, 0], [1, 0]], constant_values=True), [-1])
    places = tf.range(tf.size(sequences))
    first = tf.boolean_mask(places, begins)  # of all texts
    bounds = tf.concat([first, [tf.size(sequences)]], axis=0)
    text = tf.cumsum(tf.cast(begins, tf.int32)) - 1
    before = places - tf.gather(bounds, text)
    after = tf.gather(bounds, text + 1) - 1 - places
    return tf.reshape(before, tf.shape(sequences)), tf.reshape(after, tf.shape(sequences))


def kept(counts: Sequence[int], sample: float) -> np.ndarray:
    """Compute the probability with which each occurrence of a word is kept: (V,) float32, at most 1.

    (sqrt(z / t) + 1) t / z, of the fraction z that a word is of the texts, with the threshold t: the formula of
    word2vec's code and of gensim. The paper's (eq. 5, sqrt(t / z)) keeps a little less.

    Args:
        counts: of V words.
        sample: t.
    """
    ratio = sample * np.sum(counts, dtype=np.float64) / np.asarray(counts, np.float64)
    return np.minimum(np.sqrt(ratio) + ratio, 1.0).astype(np.float32)


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Prepare to draw numbers by their weights in constant time.

    A number n is drawn evenly, and stays with its chance; else it becomes its other.

    Args:
        weights: (V,), positive.

    Returns:
        chances (V,) float32 and others (V,) int32.

    Source: Vose 1991, "A linear algorithm for generating random numbers with a given distribution".
    """
    chances = np.asarray(weights, np.float64) * len(weights) / np.sum(weights)
    others = np.arange(len(weights), dtype=np.int32)
    order = np.argsort(chances, kind="stable").tolist()
    remaining = chances.tolist()
    low, high = 0, len(order) - 1  # the smallest, and the largest, that are not settled
    while low < high:
        small, large = order[low], order[high]
        if remaining[small] >= 1.0:
            break
        others[small] = large
        remaining[large] -= 1.0 - remaining[small]
        low += 1
        if remaining[large] < 1.0:
            # It is the next that needs another; its own place comes before the rest.
            order[low - 1], high = large, high - 1
            low -= 1
    return np.minimum(np.array(remaining), 1.0).astype(np.float32), others
