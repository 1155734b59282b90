"""Threefry: published test vectors, and uniform and independent samples."""

import numpy as np
import pytest
from keras import ops

from tfattn.decoding.counter_rng import threefry, uniform


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_equals_the_test_vectors_of_random123(key, counter, expected):
    words = threefry(*([np.array(word, "uint32") for word in pair] for pair in (key, counter)))
    assert tuple(int(ops.convert_to_numpy(word)) for word in words) == expected


def test_uniform_numbers_fill_the_interval_evenly():
    draws = ops.convert_to_numpy(uniform((7, np.arange(300)[:, None]), (np.arange(100), 0)))
    assert draws.shape == (300, 100) and draws.dtype == "float32"
    assert (draws >= 0.0).all() and (draws < 1.0).all()
    counts, _ = np.histogram(draws, bins=20, range=(0, 1))
    # Chi-square with 19 degrees of freedom: 43.8 is passed once in a thousand seeds.
    assert ((counts - 1500) ** 2 / 1500).sum() < 43.8
    # Neighbouring rows and columns: four standard deviations of a correlation over 29,700 and more pairs.
    assert abs(np.corrcoef(draws[1:].ravel(), draws[:-1].ravel())[0, 1]) < 4 / np.sqrt(29_900)
    assert abs(np.corrcoef(draws[:, 1:].ravel(), draws[:, :-1].ravel())[0, 1]) < 4 / np.sqrt(29_700)


def test_each_element_is_sampled_independently():
    seeds = np.array([5, -3, 5], "int32")
    draws = ops.convert_to_numpy(uniform((seeds, 0), (1, 2)))
    assert draws[0] == draws[2] != draws[1]
    assert ops.convert_to_numpy(uniform((np.int32(-3), 0), (1, 2))) == draws[1]
