"""The decoding loop, in rounds, between which finished rows leave the batch and caches grow."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras import ops, tree

# A round takes at most CACHE_BLOCK steps, and ends early when 1 / COMPACTION_THRESHOLD of its rows are finished.
CACHE_BLOCK = 8
COMPACTION_THRESHOLD = 8


class LoopState(NamedTuple):
    """The variables of the decoding loop.

    Attributes:
        index: the position that is read next, a scalar.
        rows: (N,) int32, the indices of the remaining rows among the B rows.
        done: (N,) bool, True at finished rows, which have no effect until they leave the batch.
        carried: a nested structure of tensors of N rows, or of N W.
        records: a nested structure of tensors of constant shape, into which rows write their results.
    """

    index: Any
    rows: Any
    done: Any
    carried: Any
    records: Any


def decode_batch(
    advance: Callable[[LoopState], tuple[Any, Any, Any]],
    *,
    carried: Any,
    records: Any,
    done: Any,
    max_length: Any,
    shrink_batch: bool,
    make_room: Callable[[Any, Any, Any], Any] | None = None,
) -> LoopState:
    """Generate one position after another until all rows are finished.

    Args:
        advance: takes one step; returns the new `done`, `carried` and `records`.
        carried: as in `LoopState`, of all rows.
        records: as in `LoopState`.
        done: (B,) bool, True at rows without output.
        max_length: the maximum number of positions; an integer, or in TensorFlow a scalar tensor.
        shrink_batch: whether rows that are done leave the batch, and `carried` is made longer as it is needed. It saves
            a good half of the time of a batch whose texts differ in length; TensorFlow can do that, other backends and
            XLA, which need all sizes beforehand, cannot.
        make_room: makes `carried` longer between rounds: `make_room(carried, index, until)` gives it room for the
            positions from `index` to `until`. By default axes of length 0 become `until` long, with zeros at their end.

    Returns:
        the loop's state at its end.
    """
    carried = tree.map_structure(ops.convert_to_tensor, carried)
    rows = ops.arange(ops.shape(done)[0], dtype="int32")
    loop = LoopState(ops.zeros((), dtype="int32"), rows, done, carried, records)
    make_room = make_room or _longer_axes(carried)
    if shrink_batch:
        return _rounds(advance, loop, make_room, max_length)
    loop = loop._replace(carried=make_room(carried, 0, max_length))
    return _round(advance, loop, until=max_length, leaving=1)


def _rounds(advance: Callable[[LoopState], tuple], loop: LoopState, make_room: Callable, max_length: Any) -> LoopState:
    # Keras has no loop whose tensors change their shapes.
    import tensorflow as tf

    batch = ops.maximum(ops.shape(loop.rows)[0], 1)
    counts = tree.map_structure(lambda x: ops.shape(x)[0] // batch, loop.carried)  # 1, or W for tensors of B W rows

    def next_round(*loop: Any) -> LoopState:
        loop = LoopState(*loop)
        here = ops.cast(ops.nonzero(ops.logical_not(loop.done))[0], "int32")
        rows, done = (ops.take(x, here, axis=0) for x in (loop.rows, loop.done))
        carried = tree.map_structure(lambda x, count: ops.take(x, _all_of(here, count), axis=0), loop.carried, counts)
        until = ops.minimum(loop.index + CACHE_BLOCK, max_length)
        carried = make_room(carried, loop.index, until)
        return _round(advance, LoopState(loop.index, rows, done, carried, loop.records), until, COMPACTION_THRESHOLD)

    def shape(x: Any, changing: Sequence[int]) -> tf.TensorShape:
        return tf.TensorShape([None if axis in changing else size for axis, size in enumerate(x.shape)])

    def changing(x: Any, longer: Any) -> list[int]:
        return [0, *(axis for axis, size in enumerate(longer.shape) if axis and size != x.shape[axis])]

    longer = make_room(loop.carried, loop.index, ops.minimum(CACHE_BLOCK, max_length))
    shapes = LoopState(
        index=shape(loop.index, ()),
        rows=shape(loop.rows, (0,)),
        done=shape(loop.done, (0,)),
        carried=tree.map_structure(lambda x, longer: shape(x, changing(x, longer)), loop.carried, longer),
        records=tree.map_structure(lambda x: shape(x, ()), loop.records),
    )

    def any_left(index: Any, rows: Any, done: Any, *_: Any) -> Any:
        return ops.logical_and(index < max_length, ops.logical_not(ops.all(done)))

    return LoopState(*tf.while_loop(any_left, next_round, tuple(loop), tuple(shapes)))


def _round(advance: Callable[[LoopState], tuple], loop: LoopState, until: Any, leaving: int) -> LoopState:
    """Take steps until a position is reached, or until 1 / `leaving` of the rows are finished."""
    num_rows = tree.map_structure(lambda x: ops.shape(x)[0], loop.carried)

    def go_on(index: Any, done: Any, *_: Any) -> Any:
        num_done = ops.sum(ops.cast(done, "int32"))
        return ops.logical_and(index < until, num_done * leaving < ops.shape(done)[0])

    def step(index: Any, done: Any, carried: Any, records: Any) -> tuple:
        done, new, records = advance(LoopState(index, loop.rows, done, carried, records))
        return index + 1, done, _shaped_like(new, carried, num_rows), records

    index, done, carried, records = ops.while_loop(go_on, step, (loop.index, loop.done, loop.carried, loop.records))
    return LoopState(index, loop.rows, done, carried, records)


def record(records: Any, index: Any, rows: Any, x: Any) -> Any:
    """Write one value per row, x (N, ...), into records (L, B, ...) at the position `index`."""
    # On TensorFlow ops.slice_update is an XLA operation, which exports cannot hold.
    indices = ops.stack([ops.broadcast_to(index, ops.shape(rows)), rows], axis=1)
    return ops.scatter_update(records, indices, x)


def replaced(records: Any, rows: Any, x: Any) -> Any:
    """Replace the values of rows in records (B, ...) by x (N, ...)."""
    return ops.scatter_update(records, rows[:, None], x)


def _all_of(rows: Any, count: Any) -> Any:
    """Return the indices of rows in a tensor with `count` consecutive entries for each row."""
    return ops.reshape(rows[:, None] * count + ops.arange(count, dtype="int32"), (-1,))


def _longer_axes(carried: Any) -> Callable[[Any, Any, Any], Any]:
    """Return the default `make_room`, which extends all axes of length 0 with zeros."""
    rooms = [[axis for axis, size in enumerate(x.shape) if axis and size == 0] for x in tree.flatten(carried)]

    def make_room(carried: Any, index: Any, until: Any) -> Any:
        grown = []
        for x, axes in zip(tree.flatten(carried), rooms, strict=True):
            for axis in axes:
                shape = list(ops.shape(x))
                shape[axis] = until - shape[axis]
                x = ops.concatenate([x, ops.zeros(shape, dtype=x.dtype)], axis=axis)
            grown.append(x)
        return tree.pack_sequence_as(carried, grown)

    return make_room


def _shaped_like(new: Any, old: Any, num_rows: Any) -> Any:
    """Restore static shapes that a step may have lost, as a loop in a graph requires."""

    def shaped(new: Any, old: Any, num_rows: Any) -> Any:
        # Sizes are not read from the old tensor, since a tensor with other readers cannot be updated in place.
        rest = [-1 if size is None else size for size in old.shape[1:]]
        return new if rest.count(-1) > 1 else ops.reshape(new, (num_rows, *rest))

    return tree.map_structure(shaped, new, old, num_rows)
