"""Masks: who may see whom."""

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


def test_packed_texts_see_themselves_alone():
    packed, padding_mask = np.array([[1, 1, 2, 0]]), np.array([[1, 1, 1, 0]])
    mask = values(masks.same_sequence(packed))
    assert mask.shape == (1, 1, 4, 4)
    assert mask[0, 0].tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(values(masks.bidirectional(padding_mask, packed)), mask)
    np.testing.assert_array_equal(values(masks.bidirectional(padding_mask)), values(masks.padding(padding_mask)))
    assert masks.bidirectional() is None


def test_causal_sees_itself_and_the_past():
    assert values(masks.causal(3, 3))[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_causal_with_steps_in_the_cache():
    assert values(masks.causal(2, 5, offset=2))[0, 0].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]


def test_continued_beams_see_what_they_go_on_from():
    # Two beams, at position 2 of 4: the second went on from the first after position 0.
    mask = values(masks.continued(np.array([[[0, 0, 0, 9], [0, 1, 1, 9]]]), 2))
    assert mask[0, 0].tolist() == [[1, 1, 1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 1, 1, 0]]


def test_combine():
    padding = masks.padding(np.array([[1, 1, 0]]))
    assert masks.combine() is None
    assert masks.combine(None, None) is None
    assert masks.combine(None, padding) is padding
    assert values(masks.combine(padding, masks.causal(3, 3)))[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
