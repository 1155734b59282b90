"""Ragged sequences become rectangles; what pads them is marked as no token."""

import tensorflow as tf

from tfattn.preprocessing.padding import padded


def test_sequences_are_padded_and_masked_and_all_else_stays():
    features = {
        "token_ids": tf.ragged.constant([[5, 6, 0], [7], []], dtype=tf.int32),
        "segment_ids": tf.ragged.constant([[0, 1, 1], [1], []], dtype=tf.int32),
        "target_ids": tf.ragged.constant([[1], [2, 3], [4]], dtype=tf.int32),
        "numeric": tf.constant([[0.5], [1.5], [2.5]]),
    }
    dense = {name: value.numpy().tolist() for name, value in padded(features).items()}
    assert dense == {
        "token_ids": [[5, 6, 0], [7, 0, 0], [0, 0, 0]],
        "segment_ids": [[0, 1, 1], [1, 0, 0], [0, 0, 0]],
        "target_ids": [[1, 0], [2, 3], [4, 0]],
        "numeric": [[0.5], [1.5], [2.5]],
        "padding_mask": [[True, True, True], [True, False, False], [False, False, False]],
        "target_padding_mask": [[True, False], [True, True], [True, False]],
    }


def test_lists_of_sequences_are_padded_and_masked_along_both_axes():
    features = {"token_ids": tf.ragged.constant([[[5, 6], [7]], [[8]], [[], [9, 9, 9]]], dtype=tf.int32)}
    dense = {name: value.numpy() for name, value in padded(features).items()}
    assert dense["token_ids"].shape == dense["padding_mask"].shape == (3, 2, 3)
    assert (dense["padding_mask"] == (dense["token_ids"] > 0)).all()
