"""Attention masks."""

import keras
import numpy as np
import pytest

from tfattn.ops import masks

pytestmark = pytest.mark.every_backend


def values(mask):
    return keras.ops.convert_to_numpy(mask).astype(int)


def test_padding():
    mask = values(masks.padding(np.array([[1, 1, 0], [1, 0, 0]])))
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[1, 1, 0], [1, 0, 0]]


def test_packed_texts_attend_only_to_themselves():
    packed, padding_mask = np.array([[1, 1, 2, 0]]), np.array([[1, 1, 1, 0]])
    mask = values(masks.same_sequence(packed))
    assert mask.shape == (1, 1, 4, 4)
    assert mask[0, 0].tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(values(masks.bidirectional(padding_mask, packed)), mask)
    np.testing.assert_array_equal(values(masks.bidirectional(padding_mask)), values(masks.padding(padding_mask)))
    assert masks.bidirectional() is None


def test_causal_masks_allow_self_and_past():
    assert values(masks.causal(3, 3))[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_causal_with_steps_in_the_cache():
    assert values(masks.causal(2, 5, offset=2))[0, 0].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]


def test_continued_beams_attend_to_their_parents():
    # Two beams, at position 2 of 4: the second went on from the first after position 0.
    mask = values(masks.continued(np.array([[[0, 0, 0, 9], [0, 1, 1, 9]]]), 2))
    assert mask[0, 0].tolist() == [[1, 1, 1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 1, 1, 0]]


def test_combine():
    padding = masks.padding(np.array([[1, 1, 0]]))
    assert masks.combine() is None
    assert masks.combine(None, None) is None
    assert masks.combine(None, padding) is padding
    assert values(masks.combine(padding, masks.causal(3, 3)))[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]


def test_a_window_hides_keys_that_are_too_early():
    positions = np.array([[0, 1, 2, 3]])
    window = values(masks.window(positions, positions, 2))[0, 0]
    assert window.tolist() == [[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]]
    of_rows = values(masks.window(np.array([[5], [1]]), np.array([[2, 3, 4, 5], [0, 1, 2, 3]]), 3))
    assert of_rows.shape == (2, 1, 1, 4)
    assert of_rows[:, 0, 0].tolist() == [[0, 1, 1, 1], [1, 1, 1, 1]]
