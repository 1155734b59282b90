"""Padding of ragged sequences to dense batches."""

from typing import Any

import tensorflow as tf

from tfattn.features import MASKS, PADDING_MASK, TOKEN_IDS


def padded(features: dict[str, Any]) -> dict[str, tf.Tensor]:
    """Pad ragged sequences with zeros to the longest of the batch, and add padding masks.

    Args:
        features: the features of a preprocessor: sequences ragged (B, (T)), or (B, (N), (T)), others (B, ...).

    Returns:
        the same names, sequences as (B, T), and `padding_mask` (B, T) bool or the mask of `features.MASKS`;
        (B, N, T) for lists of sequences.

    Example:
        >>> padded({"token_ids": tf.ragged.constant([[5, 6], [7]])})["token_ids"].numpy().tolist()
        [[5, 6], [7, 0]]
    """
    dense = {name: x.to_tensor() if isinstance(x, tf.RaggedTensor) else x for name, x in features.items()}
    for name in (TOKEN_IDS, *MASKS):
        ragged = features.get(name)
        if isinstance(ragged, tf.RaggedTensor):
            lengths = ragged.row_lengths(axis=ragged.ragged_rank)
            lengths = lengths.to_tensor() if isinstance(lengths, tf.RaggedTensor) else lengths
            dense[MASKS.get(name, PADDING_MASK)] = tf.sequence_mask(lengths, tf.shape(dense[name])[-1])
    return dense
