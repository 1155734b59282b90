"""Position encodings: sines and cosines that are added to token vectors, and rotations of queries and keys.

Both use the angles p / base^(2 i / D) of a position p, i = 0, 1, ... The angles are computed, not looked up, so that
there is no maximum sequence length.
"""

from collections.abc import Sequence
from typing import Any

from keras import ops

from tfattn.ops.rotary_rates import BASE, wave_rates


def sinusoidal(positions: Any, width: int, *, interleaved: bool = True) -> Any:
    """Encode positions by sines and cosines of different frequencies.

    Args:
        positions: (...) int.
        width: D, the width of each encoding.
        interleaved: whether components 2 i and 2 i + 1 are sine and cosine of the same angle, as in the paper. Else all
            sines are before all cosines, as in the code of the paper and in Marian.

    Returns:
        (..., D) float32 between -1 and 1.

    Example:
        >>> sinusoidal(ops.arange(5), 8).shape
        TensorShape([5, 8])

    Source: Vaswani et al. 2017, "Attention is all you need", section 3.5.
    """
    angles = _angles(positions, wave_rates(width, BASE))
    if not interleaved:
        return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)[..., :width]
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


def rotary(x: Any, positions: Any, *, base: float = BASE, rates: Sequence[float] | None = None) -> Any:
    """Rotate queries or keys by their positions, so that their products depend on relative positions alone.

    Components i and i + R of the first 2 R components are a point in a plane, which is rotated by the i-th angle of the
    position. The other components do not change.

    Args:
        x: (..., T, K), K even.
        positions: int, broadcasts to (..., T), the position of each vector.
        base: the base of the angles; a larger base gives longer wavelengths.
        rates: R <= K / 2 angles of position 1; None for the K / 2 `wave_rates` of the base.

    Returns:
        (..., T, K) in the type of x, with unchanged norms.

    Example:
        >>> rotary(ops.ones((2, 4, 5, 8)), ops.arange(5)).shape
        TensorShape([2, 4, 5, 8])

    Source: Su et al. 2021, "RoFormer: enhanced Transformer with rotary position embedding", eq. 34, where
    adjacent components are the points; this is equivalent up to the order of the columns of a kernel.
    """
    width = x.shape[-1]
    rates = wave_rates(width, base) if rates is None else rates
    angles = _angles(positions, rates)
    cosine, sine = ops.cos(angles), ops.sin(angles)
    x32, points = ops.cast(x, "float32"), len(rates)
    if 2 * points == width:
        first, second = ops.split(x32, 2, axis=-1)
        unchanged = []
    else:
        first, second, *unchanged = ops.split(x32, (points, 2 * points), axis=-1)
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return ops.cast(ops.concatenate([*turned, *unchanged], axis=-1), x.dtype)


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


def _angles(positions: Any, rates: Sequence[float]) -> Any:
    return ops.cast(positions, "float32")[..., None] * ops.convert_to_tensor(rates, dtype="float32")  # (..., R)
