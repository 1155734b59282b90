"""Padding of ragged sequences to the dense batches that models read."""

from typing import Any

import tensorflow as tf

from tfattn.features import MASKS, PADDING_MASK, TOKEN_IDS


def padded(features: dict[str, Any]) -> dict[str, tf.Tensor]:
    """Pad ragged sequences with zeros to the longest of the batch, and add the masks of their real tokens.

    Args:
        features: of a preprocessor: sequences ragged (B, (T)), others (B, ...).

    Returns:
        the same names, sequences as (B, T), and `padding_mask` (B, T) bool or the mask of `features.MASKS` beside them.

    Example:
        >>> padded({"token_ids": tf.ragged.constant([[5, 6], [7]])})["token_ids"].numpy().tolist()
        [[5, 6], [7, 0]]
    """
    dense = {name: x.to_tensor() if isinstance(x, tf.RaggedTensor) else x for name, x in features.items()}
    for name in (TOKEN_IDS, *MASKS):
        if isinstance(features.get(name), tf.RaggedTensor):
            dense[MASKS.get(name, PADDING_MASK)] = tf.sequence_mask(features[name].row_lengths())
    return dense
