"""Frequencies of tokens, and the guess by them."""

import math

import numpy as np
import pytest
import tensorflow as tf

from tfattn.evaluation.token_frequencies import count_tokens, unigram_loss


class Records:
    """Records in place of a reader's."""

    def dataset(self, epoch):
        ids, weights = [[0, 2, 2], [1, 2, 0], [3, 3, 3]], [[1, 1, 1], [0, 1, 0], [0, 0, 1]]
        return tf.data.Dataset.from_tensor_slices({"ids": ids, "weights": weights}).batch(2)


def test_what_is_told_is_counted_batch_by_batch():
    told = count_tokens(Records(), lambda batch: batch["ids"].numpy()[batch["weights"].numpy() > 0], 5)
    assert told.tolist() == [1, 0, 3, 1, 0]


def test_a_guess_by_frequencies_in_training():
    """Of four tokens with 3, 1, 0, 0 each gets one more: 4/8, 2/8, 1/8 and 1/8."""
    measured = np.array([2, 1, 0, 1])
    expected = 2 * math.log(2) + math.log(4) + math.log(8)
    assert unigram_loss(np.array([3, 1, 0, 0]), measured) == pytest.approx(expected)
    assert unigram_loss(np.zeros(4), measured) == pytest.approx(4 * math.log(4)), "of nothing all are alike"
