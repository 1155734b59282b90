"""Vectors of the places of a grid, for a grid of other sides."""

import numpy as np

SHARPNESS = -0.75  # of the cubic, as torch and OpenCV have it


def resampled(vectors: np.ndarray, grid: tuple[int, int], new: tuple[int, int]) -> np.ndarray:
    """Interpolate the vectors of a grid's places by cubics along both sides; at its edge, the last one goes on.

    Args:
        vectors: (rows columns, D), row by row.
        grid: rows and columns.
        new: those that are wanted.

    Returns:
        (new rows new columns, D) float32.

    Example:
        >>> resampled(np.ones((6, 4), "float32"), (2, 3), (4, 6)).shape
        (24, 4)

    Source: Keys 1981, "Cubic convolution interpolation for digital image processing", eq. 4, with another constant.
    """
    by_place = vectors.reshape(*grid, -1).astype("float64")
    rows, columns = (_weights(old, wanted) for old, wanted in zip(grid, new, strict=True))
    found = np.einsum("ar,bc,rcd->abd", rows, columns, by_place)
    return found.reshape(-1, vectors.shape[-1]).astype("float32")


def _weights(old: int, new: int) -> np.ndarray:
    """Return how much each of the old places counts at each of the new ones, (new, old); rows sum to 1."""
    at = (np.arange(new) + 0.5) * old / new - 0.5
    weights = np.zeros((new, old))
    for step in range(-1, 3):
        place = np.floor(at).astype(int) + step
        np.add.at(weights, (np.arange(new), np.clip(place, 0, old - 1)), _cubic(np.abs(at - place)))
    return weights


def _cubic(distance: np.ndarray) -> np.ndarray:
    a, x = SHARPNESS, distance
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * (x**3 - 5 * x**2 + 8 * x - 4)
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))
