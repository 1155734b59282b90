"""Interpolation of grids: identity, constants, lines, and independent axes."""

import numpy as np

from tfattn.pretrained.vit import resize_grid

TABLE = np.random.default_rng(0).normal(size=(12, 5)).astype("float32")


def test_the_same_grid_changes_nothing():
    np.testing.assert_allclose(resize_grid(TABLE, (3, 4), (3, 4)), TABLE, atol=1e-6)


def test_a_constant_grid_stays_constant():
    np.testing.assert_allclose(resize_grid(np.full((12, 5), 2.5), (3, 4), (7, 2)), 2.5, rtol=1e-6)


def test_midpoints_of_a_line_are_means():
    line = np.arange(16.0)[:, None]
    doubled = resize_grid(line, (1, 16), (1, 31 + 1))[:, 0]
    np.testing.assert_allclose(np.diff(doubled)[4:-4], 0.5, atol=0.1)
    np.testing.assert_allclose((doubled[8:24:2] + doubled[9:25:2]) / 2, np.arange(4, 12), atol=1e-5)


def test_a_smaller_grid_may_be_antialiased():
    striped = np.resize([1.0, -1.0], 16)[:, None]
    plain, antialiased = (resize_grid(striped, (1, 16), (1, 4), antialiases=flag)[:, 0] for flag in (False, True))
    assert np.abs(antialiased).max() < 0.1 * np.abs(striped).max() and np.abs(plain).max() < 1e-6
    one_sided = np.resize([1.0, 0.0, 0.0, 0.0], 16)[:, None]
    means = resize_grid(one_sided, (1, 16), (1, 4), antialiases=True)[:, 0]
    np.testing.assert_allclose(means[1:3], 0.25, atol=0.03)
    np.testing.assert_allclose(resize_grid(TABLE, (3, 4), (3, 4), antialiases=True), TABLE, atol=1e-6)


def test_rows_and_columns_are_independent():
    upright = TABLE.reshape(3, 4, 5).swapaxes(0, 1).reshape(12, 5)
    one = resize_grid(TABLE, (3, 4), (6, 5)).reshape(6, 5, 5)
    other = resize_grid(upright, (4, 3), (5, 6)).reshape(5, 6, 5)
    np.testing.assert_allclose(one, other.swapaxes(0, 1), atol=1e-6)
