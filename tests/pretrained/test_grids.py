"""Vectors of a grid's places for another grid: the same grid, constants, lines, and sides each by itself."""

import numpy as np

from tfattn.pretrained.grids import resampled

TABLE = np.random.default_rng(0).normal(size=(12, 5)).astype("float32")


def test_the_same_grid_changes_nothing():
    np.testing.assert_allclose(resampled(TABLE, (3, 4), (3, 4)), TABLE, atol=1e-6)


def test_what_is_the_same_everywhere_stays_so():
    np.testing.assert_allclose(resampled(np.full((12, 5), 2.5), (3, 4), (7, 2)), 2.5, rtol=1e-6)


def test_between_two_places_of_a_long_line_is_their_mean():
    line = np.arange(16.0)[:, None]
    doubled = resampled(line, (1, 16), (1, 31 + 1))[:, 0]
    np.testing.assert_allclose(np.diff(doubled)[4:-4], 0.5, atol=0.1)
    np.testing.assert_allclose((doubled[8:24:2] + doubled[9:25:2]) / 2, np.arange(4, 12), atol=1e-5)


def test_rows_and_columns_each_by_themselves():
    upright = TABLE.reshape(3, 4, 5).swapaxes(0, 1).reshape(12, 5)
    one = resampled(TABLE, (3, 4), (6, 5)).reshape(6, 5, 5)
    other = resampled(upright, (4, 3), (5, 6)).reshape(5, 6, 5)
    np.testing.assert_allclose(one, other.swapaxes(0, 1), atol=1e-6)
