"""The best spans equal exhaustive search."""

import numpy as np
import pytest
from keras import ops

from tfattn.ops.spans import NEVER, best_spans

pytestmark = pytest.mark.every_backend
DRAW = np.random.default_rng(2)


@pytest.mark.parametrize(("max_length", "count"), [(1, 3), (4, 5), (20, 2), (3, 40)])
def test_the_best_spans_are_found(max_length, count):
    start, end = DRAW.normal(size=(2, 3, 9)).astype("float32")
    may_start, may_end = DRAW.random((2, 3, 9)) < 0.6
    may_start[2] = False
    found = best_spans(start, end, may_start=may_start, may_end=may_end, max_length=max_length, count=count)
    scores, first, last = map(ops.convert_to_numpy, found)
    assert scores.shape == first.shape == last.shape == (3, count)
    for row in range(3):
        expected = sorted(
            (
                (start[row, one] + end[row, other], one, other)
                for one in np.flatnonzero(may_start[row])
                for other in np.flatnonzero(may_end[row])
                if one <= other < one + max_length
            ),
            reverse=True,
        )[:count]
        best = list(zip(scores[row], first[row], last[row], strict=True))
        assert best[: len(expected)] == expected
        assert all(one == (NEVER, 0, 0) for one in best[len(expected) :])
