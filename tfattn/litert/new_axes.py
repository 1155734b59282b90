"""Rewriting of slices that add axes: LiteRT has no `x[:, None]`, but it has the same slice followed by ExpandDims."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import node_def_pb2
from tensorflow.core.protobuf import saved_model_pb2

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "shrink_axis_mask")

Node = node_def_pb2.NodeDef


def rewrite_new_axes(saved: saved_model_pb2.SavedModel) -> None:
    """Replace every StridedSlice that adds axes, in the graph and its functions.

    The last node of a replacement has the name of the slice, so that no other node changes.

    Args:
        saved: the message of a SavedModel; it is changed.
    """
    graph = saved.meta_graphs[0].graph_def
    _rewrite(graph.node, in_function=False)
    for function in graph.library.function:
        _rewrite(function.node_def, in_function=True)


class _Scope(NamedTuple):
    """The nodes of the graph or of a function.

    Attributes:
        nodes: each node by name.
        suffix: the end of the name of a node's first output, by operation.
    """

    nodes: Mapping[str, Node]
    in_function: bool

    def output(self, node: Node) -> str:
        """Return the name of the first output of a node."""
        return f"{node.name}:output:0" if self.in_function else node.name


def _rewrite(nodes: Iterable[Node], *, in_function: bool) -> None:
    scope = _Scope({node.name: node for node in nodes}, in_function)
    added = []
    for node in nodes:
        if node.op == "StridedSlice" and _mask(node, "new_axis_mask"):
            added += _replace(node, scope)
    nodes.extend(added)


def _replace(node: Node, scope: _Scope) -> list[Node]:
    """Turn a slice into the last ExpandDims of its replacement; return the nodes before it."""
    bounds = [scope.nodes[name.split(":")[0].lstrip("^")] for name in node.input[1:4]]
    mask = _mask(node, "new_axis_mask")
    count = _length(bounds[0])
    kept = [index for index in range(count) if not mask >> index & 1]
    added = [] if _takes_all(node, bounds[2], kept) else _sliced(node, bounds, kept, scope)
    value = scope.output(added[-1]) if added else node.input[0]
    axes = _axes(node, mask, count)
    dtype = node.attr["T"].type
    for number, axis in enumerate(axes):
        is_last = number == len(axes) - 1
        constant = _constant(f"{node.name}/axis_{number}", axis)
        expanded = Node(name=node.name if is_last else f"{node.name}/expanded_{number}", op="ExpandDims")
        expanded.input.extend([value, scope.output(constant)])
        expanded.attr["T"].type = dtype
        expanded.attr["Tdim"].type = tf.int32.as_datatype_enum
        added.append(constant)
        if is_last:
            expanded.input.extend(name for name in node.input if name.startswith("^"))
            node.CopyFrom(expanded)
        else:
            added.append(expanded)
            value = scope.output(expanded)
    return added


def _sliced(node: Node, bounds: list[Node], kept: list[int], scope: _Scope) -> list[Node]:
    """Return the slice without its new axes, after its bounds."""
    sliced = Node(name=f"{node.name}/sliced", op="StridedSlice")
    sliced.attr["T"].CopyFrom(node.attr["T"])
    sliced.attr["Index"].CopyFrom(node.attr["Index"])
    for name in MASKS:
        mask = _mask(node, name)
        sliced.attr[name].i = sum((mask >> index & 1) << number for number, index in enumerate(kept))
    added = [
        _bound(bound, kept, f"{node.name}/{name}") for bound, name in zip(bounds, ("begin", "end", "step"), strict=True)
    ]
    sliced.input.extend([node.input[0], *map(scope.output, added)])
    return [*added, sliced]


def _bound(bound: Node, kept: list[int], name: str) -> Node:
    """Return some entries of a constant or of a Pack of scalars."""
    if bound.op == "Const":
        return _constant(name, tf.make_ndarray(bound.attr["value"].tensor)[kept])
    packed = Node()
    packed.CopyFrom(bound)
    packed.name = name
    del packed.input[:]
    packed.input.extend(bound.input[index] for index in kept)
    packed.attr["N"].i = len(kept)
    packed.attr.pop("_output_shapes", None)
    return packed


def _mask(node: Node, name: str) -> int:
    # `in` comes first: reading a missing key of a message's map would create it.
    return node.attr[name].i if name in node.attr else 0


def _length(bound: Node) -> int:
    if bound.op == "Pack":
        return bound.attr["N"].i
    if bound.op == "Const":
        return tf.make_ndarray(bound.attr["value"].tensor).size
    raise ValueError(f"{bound.name}: the bound of a slice with new axes is the operation {bound.op}")


def _takes_all(node: Node, step: Node, kept: list[int]) -> bool:
    """Return whether the slice only adds axes."""
    masks = [_mask(node, name) for name in MASKS]
    steps = tf.make_ndarray(step.attr["value"].tensor) if step.op == "Const" else None
    return steps is not None and all(
        (masks[2] | (masks[0] & masks[1])) >> index & 1 and not masks[3] >> index & 1 and steps[index] == 1
        for index in kept
    )


def _axes(node: Node, mask: int, count: int) -> list[int]:
    """Return the new axes in the order in which they are inserted: negative after an ellipsis."""
    ellipsis, shrunk = _mask(node, "ellipsis_mask"), _mask(node, "shrink_axis_mask") & ~mask
    new = [index for index in range(count) if mask >> index & 1]
    first_after = ellipsis.bit_length() if ellipsis else count

    def remaining(indices: range) -> int:
        return sum(not shrunk >> index & 1 for index in indices)

    before = [remaining(range(index)) for index in new if index < first_after]
    after = [-1 - remaining(range(index + 1, count)) for index in reversed(new) if index >= first_after]
    return before + after


def _constant(name: str, value: int | np.ndarray) -> Node:
    node = Node(name=name, op="Const")
    array = np.asarray(value, np.asarray(value).dtype if isinstance(value, np.ndarray) else np.int32)
    node.attr["dtype"].type = tf.as_dtype(array.dtype).as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(array))
    return node
