"""The loop of all decoding: in rounds, between which the rows that are done leave and the state gets room."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras import ops, tree

# How many steps a round has room for, and which part of its rows, one in so many, ends it by being done.
STEPS = 8
LEAVING = 8


class Loop(NamedTuple):
    """What goes from one step to the next.

    Attributes:
        index: the position that is read next, a scalar.
        rows: (N,) int32, which of the B rows are still here.
        done: (N,) bool, which of them need nothing more. They take part without effect until they leave.
        carried: a nested structure of tensors that belong to rows: the first axis is of N rows, or of N W.
        records: a nested structure of tensors that keep their shapes, where rows leave what they write.
    """

    index: Any
    rows: Any
    done: Any
    carried: Any
    records: Any


def write_rows(
    write_one: Callable[[Loop], tuple[Any, Any, Any]],
    *,
    carried: Any,
    records: Any,
    done: Any,
    max_length: Any,
    rows_leave: bool,
) -> Loop:
    """Writes one position after the other until all rows are done.

    Args:
        write_one: what a step makes of `done`, `carried` and `records`.
        carried: as in `Loop`, of all rows. Axes of length 0 are room for positions: the loop makes them longer, with
            zeros, to hold all that are written.
        records: as in `Loop`.
        done: (B,) bool, which rows have nothing to write.
        max_length: the most positions; an integer, or in TensorFlow a scalar tensor.
        rows_leave: whether rows that are done leave the batch, and room is made as it is needed. It saves a good half
            of the time of a batch whose texts are of many lengths; TensorFlow can do that, other backends and XLA,
            which need all sizes beforehand, cannot.

    Returns:
        the loop as it ended.
    """
    carried = tree.map_structure(ops.convert_to_tensor, carried)
    rows = ops.arange(ops.shape(done)[0], dtype="int32")
    loop = Loop(ops.zeros((), dtype="int32"), rows, done, carried, records)
    rooms = [[axis for axis, size in enumerate(x.shape) if axis and size == 0] for x in tree.flatten(carried)]
    if rows_leave:
        return _rounds(write_one, loop, rooms, max_length)
    return _round(write_one, loop._replace(carried=_with_room(carried, rooms, max_length)), until=max_length, leaving=1)


def _rounds(write_one: Callable[[Loop], tuple], loop: Loop, rooms: list[list[int]], max_length: Any) -> Loop:
    # Keras has no loop whose tensors change their shapes.
    import tensorflow as tf

    batch = ops.maximum(ops.shape(loop.rows)[0], 1)
    shares = tree.map_structure(lambda x: ops.shape(x)[0] // batch, loop.carried)  # how many rows a tensor has of each

    def next_round(*loop: Any) -> Loop:
        loop = Loop(*loop)
        here = ops.cast(ops.nonzero(ops.logical_not(loop.done))[0], "int32")
        rows, done = (ops.take(x, here, axis=0) for x in (loop.rows, loop.done))
        carried = tree.map_structure(lambda x, share: ops.take(x, _all_of(here, share), axis=0), loop.carried, shares)
        until = ops.minimum(loop.index + STEPS, max_length)
        carried = _with_room(carried, rooms, until)
        return _round(write_one, Loop(loop.index, rows, done, carried, loop.records), until, LEAVING)

    def shape(x: Any, changing: Sequence[int]) -> tf.TensorShape:
        return tf.TensorShape([None if axis in changing else size for axis, size in enumerate(x.shape)])

    carried = [shape(x, (0, *axes)) for x, axes in zip(tree.flatten(loop.carried), rooms, strict=True)]
    shapes = Loop(
        index=shape(loop.index, ()),
        rows=shape(loop.rows, (0,)),
        done=shape(loop.done, (0,)),
        carried=tree.pack_sequence_as(loop.carried, carried),
        records=tree.map_structure(lambda x: shape(x, ()), loop.records),
    )

    def any_left(index: Any, rows: Any, done: Any, *_: Any) -> Any:
        return ops.logical_not(ops.all(done))

    return Loop(*tf.while_loop(any_left, next_round, tuple(loop), tuple(shapes)))


def _round(write_one: Callable[[Loop], tuple], loop: Loop, until: Any, leaving: int) -> Loop:
    """Steps until a position, or until one in `leaving` rows is done."""
    num_rows = tree.map_structure(lambda x: ops.shape(x)[0], loop.carried)

    def go_on(index: Any, done: Any, *_: Any) -> Any:
        num_done = ops.sum(ops.cast(done, "int32"))
        return ops.logical_and(index < until, num_done * leaving < ops.shape(done)[0])

    def one(index: Any, done: Any, carried: Any, records: Any) -> tuple:
        done, new, records = write_one(Loop(index, loop.rows, done, carried, records))
        return index + 1, done, _shaped_like(new, carried, num_rows), records

    index, done, carried, records = ops.while_loop(go_on, one, (loop.index, loop.done, loop.carried, loop.records))
    return Loop(index, loop.rows, done, carried, records)


def record(records: Any, index: Any, rows: Any, x: Any) -> Any:
    """Writes what each row (N, ...) has for the position `index` into records (L, B, ...)."""
    # Not ops.slice_update: in TensorFlow that is an operation of XLA, which an export may not hold.
    places = ops.stack([ops.broadcast_to(index, ops.shape(rows)), rows], axis=1)
    return ops.scatter_update(records, places, x)


def replaced(records: Any, rows: Any, x: Any) -> Any:
    """Writes what each row (N, ...) has now in place of what records (B, ...) hold."""
    return ops.scatter_update(records, rows[:, None], x)


def _all_of(rows: Any, share: Any) -> Any:
    """Where in a tensor that has `share` rows of each those of the rows stand."""
    return ops.reshape(rows[:, None] * share + ops.arange(share, dtype="int32"), (-1,))


def _with_room(carried: Any, rooms: list[list[int]], size: Any) -> Any:
    """With so much room, made of zeros, along those axes of each tensor."""
    grown = []
    for x, axes in zip(tree.flatten(carried), rooms, strict=True):
        for axis in axes:
            shape = list(ops.shape(x))
            shape[axis] = size - shape[axis]
            x = ops.concatenate([x, ops.zeros(shape, dtype=x.dtype)], axis=axis)
        grown.append(x)
    return tree.pack_sequence_as(carried, grown)


def _shaped_like(new: Any, old: Any, num_rows: Any) -> Any:
    """The new state, of which a graph knows the shapes again: steps may forget them, a loop needs them."""

    def shaped(new: Any, old: Any, num_rows: Any) -> Any:
        # Sizes are not asked of the old tensor: whoever still reads it keeps steps from writing into it in place.
        rest = [-1 if size is None else size for size in old.shape[1:]]
        return new if rest.count(-1) > 1 else ops.reshape(new, (num_rows, *rest))

    return tree.map_structure(shaped, new, old, num_rows)
