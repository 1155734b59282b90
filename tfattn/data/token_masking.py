"""Masks of tokens, drawn anew in each epoch, for models that learn to fill them in."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from pydantic import PositiveInt

from tfattn.config.types import Rate
from tfattn.data.splitmix64 import uniform
from tfattn.data.transforms import Batch, Transform
from tfattn.features import MASKED_LM_IDS, MASKED_LM_POSITIONS, MASKED_LM_WEIGHTS, PADDING_MASK, TOKEN_IDS

MASKED, KEPT = 0.8, 0.1  # of the chosen tokens; the others become random ones


class TokenMasking(Transform):
    """Masking of some tokens of each row, which are to be predicted, as BERT's own tools do.

    Of the chosen ones 80 % become the mask, 10 % a random token, and 10 % stay. Neither padding nor special tokens are
    chosen or put in another's place. A row that has any other token has at least one to tell; of whole words there may
    be none that is as short as that. Whole words are chosen in random order, without those that would be too many
    tokens, as Google's create_pretraining_data.py does.

    Args:
        mask_id: the id of the mask.
        special_ids: ids of tokens such as the start, the separator and the mask.
        vocabulary_size: how many ids there are.
        masked_lm_prob: the fraction of a row's tokens, special ones counted, that are chosen.
        max_predictions_per_seq: the most tokens that are chosen of a row; null sets no limit.
        continuing_ids: where words are chosen with all of their pieces, the ids of those that do not begin a word.

    Call arguments:
        batch: `token_ids` and `padding_mask` (B, T).

    Returns:
        the batch with tokens hidden, and P places to tell of each row, from left to right: `masked_lm_positions` and
        `masked_lm_ids`, (B, P) int32, the ids as they were, and `masked_lm_weights` (B, P) float32, 1 at those places
        that there are. P follows from T, so that all parts of a batch have the same.

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
        change = tf.where(chosen, self._instead(ids, seeds) - ids, 0)
        rows = tf.broadcast_to(tf.range(tf.shape(positions)[0])[:, None], tf.shape(positions))
        return {
            **batch,
            # Added, not set: where a place does not count, nothing is added to the first token.
            TOKEN_IDS: tf.tensor_scatter_nd_add(token_ids, tf.stack([rows, positions], axis=-1), change),
            MASKED_LM_POSITIONS: positions,
            MASKED_LM_IDS: ids,
            MASKED_LM_WEIGHTS: tf.cast(chosen, tf.float32),
        }

    def _choose(self, token_ids, real, seeds):
        """Draw positions in rising order, (B, P) int32, and which of them count, (B, P) bool."""
        width = tf.shape(token_ids)[1]
        may_be_chosen = real & ~tf.gather(self._is_one_of(self.special_ids), token_ids)
        wanted = self._count(tf.math.count_nonzero(real, axis=1, dtype=tf.int32))
        order = uniform(seeds, width)
        if self.continuing_ids:
            continues = tf.gather(self._is_one_of(self.continuing_ids), token_ids)
            order, may_be_chosen = _by_words(order, may_be_chosen, continues, wanted)
        order = tf.where(may_be_chosen, order, 1.0)
        smallest, positions = tf.math.top_k(-order, self._count(width))
        chosen = (smallest > -1.0) & tf.sequence_mask(wanted, tf.shape(positions)[1])
        positions = tf.sort(tf.where(chosen, positions, width), axis=1)
        chosen = positions < width
        return tf.where(chosen, positions, 0), chosen

    def _count(self, length):
        """Count the tokens that are chosen of so many."""
        count = tf.maximum(1, tf.cast(tf.round(tf.cast(length, tf.float32) * self.masked_lm_prob), tf.int32))
        return count if self.max_predictions_per_seq is None else tf.minimum(count, self.max_predictions_per_seq)

    def _instead(self, ids, seeds):
        """Draw what replaces the chosen tokens."""
        kind, which = (uniform(seeds, tf.shape(ids)[1], draw=draw) for draw in (1, 2))
        ordinary = np.setdiff1d(np.arange(self.vocabulary_size), self.special_ids)
        random_ids = tf.gather(tf.constant(ordinary, tf.int32), tf.cast(which * len(ordinary), tf.int32))
        return tf.where(kind < MASKED, self.mask_id, tf.where(kind < MASKED + KEPT, ids, random_ids))

    def _is_one_of(self, ids):
        """Tell for each id of the vocabulary whether it is one of some, (V,) bool."""
        return tf.constant(np.isin(np.arange(self.vocabulary_size), ids))


def _by_words(order, may_be_chosen, continues, wanted):
    """Order tokens by a random number of their word, of those words that there is still room for.

    Args:
        order: (B, T) float32, random numbers.
        may_be_chosen: (B, T) bool.
        continues: (B, T) bool, whether a token belongs to the word of the one before, unless that is special.
        wanted: (B,) int32, the most tokens to choose.

    Returns:
        the order, equal within a word, and which tokens may be chosen, both (B, T).
    """
    rows, width = tf.shape(order)[0], tf.shape(order)[1]
    begins = may_be_chosen & ~(continues & tf.pad(may_be_chosen, [[0, 0], [1, 0]])[:, :-1])
    words = tf.maximum(tf.cumsum(tf.cast(begins, tf.int32), axis=1) - 1, 0)
    across = words + tf.range(rows)[:, None] * width  # numbered through all rows

    def over_words(reduce, values):
        return tf.gather(reduce(values, across, rows * width), across)

    sizes = over_words(tf.math.unsorted_segment_sum, tf.cast(may_be_chosen, tf.int32))
    positions = tf.where(may_be_chosen, tf.range(width), width)
    numbers = positions - over_words(tf.math.unsorted_segment_min, positions)  # of a piece in its word
    order = tf.where(may_be_chosen, tf.gather(order, words, batch_dims=1), 1.0)
    turns = tf.argsort(order, axis=1, stable=True)
    sizes, numbers, waiting = (tf.gather(values, turns, batch_dims=1) for values in (sizes, numbers, may_be_chosen))

    # Each round takes the words up to the first that does not fit, and drops all that are longer than what is left.
    def take(waiting, taken, room):
        before = tf.cumsum(tf.cast(waiting, tf.int32), axis=1, exclusive=True) - numbers
        fits = waiting & (before + sizes <= room)
        room -= tf.math.count_nonzero(fits, axis=1, keepdims=True, dtype=tf.int32)
        return waiting & ~fits & (sizes <= room), taken | fits, room

    room = wanted[:, None]
    first = (waiting & (sizes <= room), tf.zeros_like(waiting), room)
    _, taken, _ = tf.while_loop(lambda waiting, *_: tf.reduce_any(waiting), take, first)
    return order, tf.gather(taken, tf.argsort(turns, axis=1), batch_dims=1)
