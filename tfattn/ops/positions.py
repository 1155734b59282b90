"""Position encodings: sines and cosines that are added to token vectors, and rotations of queries and keys.

Both use the angles p / base^(2 i / D) of a position p, i = 0, 1, ... The angles are computed, not looked up, so that
there is no maximum sequence length.
"""

from typing import Any

from keras import ops

BASE = 10000.0  # of both papers; models for long texts use a larger base


def sinusoidal(positions: Any, width: int) -> Any:
    """Encode positions by sines and cosines of different frequencies.

    Args:
        positions: (...) int.
        width: D, the width of each encoding.

    Returns:
        (..., D) float32 between -1 and 1; components 2 i and 2 i + 1 are sine and cosine of the same angle.

    Example:
        >>> sinusoidal(ops.arange(5), 8).shape
        TensorShape([5, 8])

    Source: Vaswani et al. 2017, "Attention is all you need", section 3.5.
    """
    angles = _angles(positions, width, BASE)
    pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)  # (..., D / 2, 2)
    return ops.reshape(pairs, (*ops.shape(positions), -1))[..., :width]


def sinusoidal_grid(rows: int, columns: int, width: int) -> Any:
    """Encode the positions of a grid, row by row: half of the components encode the row, the other half the column.

    Args:
        rows: the number of rows.
        columns: the number of columns.
        width: D, the width of each encoding.

    Returns:
        (rows columns, D) float32; with an odd D the row has one more component.

    Example:
        >>> sinusoidal_grid(2, 3, 8).shape
        TensorShape([6, 8])

    Source: Chen et al. 2021, "An empirical study of training self-supervised vision Transformers", section 4.1.
    """
    row_encodings = ops.repeat(sinusoidal(ops.arange(rows), width - width // 2), columns, axis=0)
    column_encodings = ops.tile(sinusoidal(ops.arange(columns), width // 2), (rows, 1))
    return ops.concatenate([row_encodings, column_encodings], axis=-1)


def rotary(x: Any, positions: Any, *, base: float = BASE) -> Any:
    """Rotate queries or keys by their positions, so that their products depend on relative positions alone.

    Components i and i + K / 2 are a point in a plane, which is rotated by the i-th angle of the position.

    Args:
        x: (..., T, K), K even.
        positions: int, broadcasts to (..., T), the position of each vector.
        base: the base of the angles; a larger base gives longer wavelengths.

    Returns:
        (..., T, K) in the type of x, with unchanged norms.

    Example:
        >>> rotary(ops.ones((2, 4, 5, 8)), ops.arange(5)).shape
        TensorShape([2, 4, 5, 8])

    Source: Su et al. 2021, "RoFormer: enhanced Transformer with rotary position embedding", eq. 34, where
    adjacent components are the points; this is equivalent up to the order of the columns of a kernel.
    """
    angles = _angles(positions, x.shape[-1], base)
    cosine, sine = ops.cos(angles), ops.sin(angles)
    first, second = ops.split(ops.cast(x, "float32"), 2, axis=-1)
    turned = ops.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
    return ops.cast(turned, x.dtype)


def restarting(sequence_ids: Any) -> Any:
    """Compute positions that restart from 0 at each sequence packed into a row.

    Args:
        sequence_ids: (B, T) int, the sequence of each token; the tokens of a sequence are adjacent.

    Returns:
        (B, T) int32.

    Example:
        >>> restarting(ops.array([[1, 1, 1, 2, 2, 0]])).numpy().tolist()
        [[0, 1, 2, 0, 1, 0]]
    """
    is_same = sequence_ids[:, :, None] == sequence_ids[:, None, :]
    first = ops.cast(ops.argmax(ops.cast(is_same, "int32"), axis=-1), "int32")
    return ops.arange(ops.shape(sequence_ids)[1], dtype="int32") - first


def _angles(positions: Any, width: int, base: float) -> Any:
    rates = ops.convert_to_tensor([base ** (-even / width) for even in range(0, width, 2)], dtype="float32")
    return ops.cast(positions, "float32")[..., None] * rates  # (..., D / 2)
