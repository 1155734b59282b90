"""Relative positions in ranges of distances: those of T5, and symmetric or causal."""

import numpy as np
import pytest
from keras import ops

from tfattn.layers.relative_bias import RelativeBias, distance_buckets

# The first distance of each range, as transformers' T5Attention computes them.
BOTH = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
CAUSAL = [*range(17), 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]


@pytest.mark.parametrize(("is_causal", "firsts"), [(False, BOTH), (True, CAUSAL)])
def test_ranges_are_those_of_t5(is_causal, firsts):
    buckets = distance_buckets(32, 128, is_causal=is_causal)
    before, after = buckets[128:], buckets[128::-1]
    assert [int(np.argmax(before == number)) for number in range(len(firsts))] == firsts
    if is_causal:
        assert not after.any()
    else:
        np.testing.assert_array_equal(after[1:], before[1:] + 16)


def test_far_keys_share_a_number_and_later_positions_have_the_same_distances():
    layer = RelativeBias(num_heads=2, num_buckets=4, max_distance=3, initializer_range=1.0)
    bias = ops.convert_to_numpy(layer(ops.arange(9), ops.arange(9)))[0]
    assert bias[0, 8, 0] == bias[0, 8, 5] != bias[0, 8, 8]
    later = ops.convert_to_numpy(layer(ops.arange(5, 9), ops.arange(9)))[0]
    np.testing.assert_array_equal(later, bias[:, 5:])
