"""Random masking of tokens for masked language modeling."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from pydantic import PositiveInt

from tfattn.config.types import Rate
from tfattn.data.examples.transforms import Batch, Transform
from tfattn.data.splitmix64 import uniform
from tfattn.features import MASKED_LM_IDS, MASKED_LM_POSITIONS, MASKED_LM_WEIGHTS, PADDING_MASK, TOKEN_IDS

MASKED, KEPT = 0.8, 0.1  # fractions of the selected tokens; the rest are replaced by random tokens


class TokenMasking(Transform):
    """Masking of random tokens of each row, as in the original BERT code.

    Of the selected tokens, 80 % are replaced by the mask, 10 % by a random token, and 10 % are kept. Padding and
    special tokens are neither selected nor used as replacements. At least one token of a row is selected, if the row
    has any other token; with whole-word masking, no word may be short enough. Whole words are selected in random order,
    and a word that exceeds the remaining number of tokens is skipped, as in Google's create_pretraining_data.py.

    Args:
        mask_id: id of the mask token.
        special_ids: ids of special tokens, such as the start, the separator and the mask.
        vocabulary_size: number of ids.
        masked_lm_prob: fraction of the tokens of a row, special tokens included, that are selected.
        max_predictions_per_seq: maximum number of selected tokens per row; null sets no limit.
        continuing_ids: for whole-word masking, the ids of pieces that continue a word.

    Call arguments:
        batch: `token_ids` and `padding_mask` (B, T).

    Returns:
        the batch with masked tokens, and P predictions per row, from left to right: `masked_lm_positions` and
        `masked_lm_ids`, (B, P) int32, the original ids, and `masked_lm_weights` (B, P) float32, 1 for real
        predictions and 0 for padding. P is a function of T, so all replicas of a batch have the same P.

    Example:
        masking = TokenMasking(mask_id=103, special_ids=[0, 101, 102, 103], vocabulary_size=30522)
        reader = Reader(folder, "train", batching=batching, seed=7, shuffle=True, transforms=[masking])

    Source: Devlin et al. 2019, "BERT", section 3.1 and appendix A.1.
    """

    targets = (MASKED_LM_POSITIONS, MASKED_LM_IDS, MASKED_LM_WEIGHTS)

    def __init__(
        self,
        *,
        mask_id: int,
        special_ids: Sequence[int],
        vocabulary_size: int,
        masked_lm_prob: Rate = 0.15,
        max_predictions_per_seq: PositiveInt | None = None,
        continuing_ids: Sequence[int] = (),
    ):
        self.mask_id = mask_id
        self.special_ids = list(special_ids)
        self.vocabulary_size = vocabulary_size
        self.masked_lm_prob = masked_lm_prob
        self.max_predictions_per_seq = max_predictions_per_seq
        self.continuing_ids = list(continuing_ids)

    def __call__(self, batch: Batch, seeds: tf.Tensor) -> dict[str, tf.Tensor]:
        token_ids, real = batch[TOKEN_IDS], batch[PADDING_MASK]
        positions, chosen = self._choose(token_ids, real, seeds)
        ids = tf.where(chosen, tf.gather(token_ids, positions, batch_dims=1), 0)
        change = tf.where(chosen, self._replacements(ids, seeds) - ids, 0)
        rows = tf.broadcast_to(tf.range(tf.shape(positions)[0])[:, None], tf.shape(positions))
        return {
            **batch,
            # Added, not assigned: padded predictions add 0 to the first token.
            TOKEN_IDS: tf.tensor_scatter_nd_add(token_ids, tf.stack([rows, positions], axis=-1), change),
            MASKED_LM_POSITIONS: positions,
            MASKED_LM_IDS: ids,
            MASKED_LM_WEIGHTS: tf.cast(chosen, tf.float32),
        }

    def _choose(self, token_ids, real, seeds):
        """Sample positions in ascending order, (B, P) int32, and mark the real ones, (B, P) bool."""
        width = tf.shape(token_ids)[1]
        may_be_chosen = real & ~tf.gather(self._indicator(self.special_ids), token_ids)
        wanted = self._count(tf.math.count_nonzero(real, axis=1, dtype=tf.int32))
        order = uniform(seeds, width)
        if self.continuing_ids:
            continues = tf.gather(self._indicator(self.continuing_ids), token_ids)
            order, may_be_chosen = _by_words(order, may_be_chosen, continues, wanted)
        order = tf.where(may_be_chosen, order, 1.0)
        smallest, positions = tf.math.top_k(-order, self._count(width))
        chosen = (smallest > -1.0) & tf.sequence_mask(wanted, tf.shape(positions)[1])
        positions = tf.sort(tf.where(chosen, positions, width), axis=1)
        chosen = positions < width
        return tf.where(chosen, positions, 0), chosen

    def _count(self, length):
        """Compute the number of selected tokens of a row of `length` tokens."""
        count = tf.maximum(1, tf.cast(tf.round(tf.cast(length, tf.float32) * self.masked_lm_prob), tf.int32))
        return count if self.max_predictions_per_seq is None else tf.minimum(count, self.max_predictions_per_seq)

    def _replacements(self, ids, seeds):
        """Sample the replacements of the selected tokens."""
        kind, which = (uniform(seeds, tf.shape(ids)[1], draw=draw) for draw in (1, 2))
        ordinary = np.setdiff1d(np.arange(self.vocabulary_size), self.special_ids)
        random_ids = tf.gather(tf.constant(ordinary, tf.int32), tf.cast(which * len(ordinary), tf.int32))
        return tf.where(kind < MASKED, self.mask_id, tf.where(kind < MASKED + KEPT, ids, random_ids))

    def _indicator(self, ids):
        """Mark the given ids among all ids of the vocabulary: (V,) bool."""
        return tf.constant(np.isin(np.arange(self.vocabulary_size), ids))


def _by_words(order, may_be_chosen, continues, wanted):
    """Order tokens by the random number of their word, for the words that fit into the number of selected tokens.

    Args:
        order: (B, T) float32, random numbers of tokens.
        may_be_chosen: (B, T) bool.
        continues: (B, T) bool, whether a token continues the word of the previous token, unless that is special.
        wanted: (B,) int32, maximum number of selected tokens.

    Returns:
        the order, equal within a word, and which tokens may be selected, both (B, T).
    """
    rows, width = tf.shape(order)[0], tf.shape(order)[1]
    starts = may_be_chosen & ~(continues & tf.pad(may_be_chosen, [[0, 0], [1, 0]])[:, :-1])
    words = tf.maximum(tf.cumsum(tf.cast(starts, tf.int32), axis=1) - 1, 0)
    across = words + tf.range(rows)[:, None] * width  # word numbers, unique across rows

    def over_words(reduce, values):
        return tf.gather(reduce(values, across, rows * width), across)

    sizes = over_words(tf.math.unsorted_segment_sum, tf.cast(may_be_chosen, tf.int32))
    positions = tf.where(may_be_chosen, tf.range(width), width)
    numbers = positions - over_words(tf.math.unsorted_segment_min, positions)  # index of a piece in its word
    order = tf.where(may_be_chosen, tf.gather(order, words, batch_dims=1), 1.0)
    turns = tf.argsort(order, axis=1, stable=True)
    sizes, numbers, waiting = (tf.gather(values, turns, batch_dims=1) for values in (sizes, numbers, may_be_chosen))

    # Each round selects the words up to the first that does not fit, and drops the words that exceed the room left.
    def take(waiting, taken, room):
        before = tf.cumsum(tf.cast(waiting, tf.int32), axis=1, exclusive=True) - numbers
        fits = waiting & (before + sizes <= room)
        room -= tf.math.count_nonzero(fits, axis=1, keepdims=True, dtype=tf.int32)
        return waiting & ~fits & (sizes <= room), taken | fits, room

    room = wanted[:, None]
    first = (waiting & (sizes <= room), tf.zeros_like(waiting), room)
    _, taken, _ = tf.while_loop(lambda waiting, *_: tf.reduce_any(waiting), take, first)
    return order, tf.gather(taken, tf.argsort(turns, axis=1), batch_dims=1)
