"""Masks of tokens, drawn anew in each epoch, for models that learn to fill them in."""

from collections.abc import Sequence

import tensorflow as tf
from pydantic import PositiveInt

from tfattn.config.types import Rate
from tfattn.data.transforms import Batch, Transform, uniform
from tfattn.features import MASKED_LM_IDS, MASKED_LM_POSITIONS, MASKED_LM_WEIGHTS, PADDING_MASK, TOKEN_IDS

MASKED, KEPT = 0.8, 0.1  # of the chosen tokens; the others become random ones


class TokenMasking(Transform):
    """Masking of some tokens of each row, which are to be predicted, as BERT's own tools do.

    Of the chosen ones 80 % become the mask, 10 % a random token, and 10 % stay. Neither padding nor special tokens are
    chosen or put in another's place. A row that has any other token has at least one to tell.

    Args:
        mask_id: the id of the mask.
        special_ids: ids of tokens such as the start, the separator and the mask.
        vocabulary_size: how many ids there are.
        masked_lm_prob: the fraction of a row's tokens, special ones counted, that are chosen.
        max_predictions_per_seq: the most tokens that are chosen of a row; null sets no limit.

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
    ):
        self.mask_id = mask_id
        self.special_ids = list(special_ids)
        self.vocabulary_size = vocabulary_size
        self.masked_lm_prob = masked_lm_prob
        self.max_predictions_per_seq = max_predictions_per_seq

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
        may_be_chosen = real & tf.reduce_all(token_ids[..., None] != tf.constant(self.special_ids, tf.int32), axis=-1)
        order = tf.where(may_be_chosen, uniform(seeds, width), 1.0)
        smallest, positions = tf.math.top_k(-order, self._count(width))
        wanted = self._count(tf.math.count_nonzero(real, axis=1, dtype=tf.int32))
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
        ordinary = [number for number in range(self.vocabulary_size) if number not in set(self.special_ids)]
        random_ids = tf.gather(tf.constant(ordinary, tf.int32), tf.cast(which * len(ordinary), tf.int32))
        return tf.where(kind < MASKED, self.mask_id, tf.where(kind < MASKED + KEPT, ids, random_ids))
