"""A graph and its functions: nodes by scope, their dependencies, and the strings of constants."""

import math
from collections.abc import Iterable, Iterator

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, function_pb2, graph_pb2, node_def_pb2, tensor_pb2, types_pb2

from tfattn.errors import SavedModelError

MAIN = ""  # the scope of nodes outside of functions

Node = tuple[str, str]  # the scope, a function's name or MAIN, and the name of the node in it


class Graph:
    """The nodes, functions and constants of a GraphDef.

    Args:
        definition: the graph with its library of functions.

    Attributes:
        nodes: each node by scope and name.
        functions: each function by name.
        names: the name of each node's operation, and the names in its attributes; any of them may be a function.
        constants: the constants of each node with constants.

    Raises:
        SavedModelError: two functions, or two nodes of a scope, have the same name.
    """

    def __init__(self, definition: graph_pb2.GraphDef):
        self.nodes: dict[Node, node_def_pb2.NodeDef] = {}
        self.functions: dict[str, function_pb2.FunctionDef] = {}
        self.names: dict[Node, list[str]] = {}
        self.constants: dict[Node, list[tensor_pb2.TensorProto]] = {}
        self._inside: dict[str, list[Node]] = {}
        self._add(MAIN, definition.node)
        for function in definition.library.function:
            self.functions[function.signature.name] = function
            self._add(function.signature.name, function.node_def)

    def reached(self, tensors: Iterable[str]) -> set[Node]:
        """Find all nodes that the tensors of the main graph depend on."""
        todo = [(MAIN, node_name(tensor)) for tensor in tensors]
        reached: set[Node] = set()
        while todo:
            key = todo.pop()
            if key in reached or key not in self.nodes:
                continue
            reached.add(key)
            for function in self.names[key]:
                todo += self._inside.get(function, ())
            if key[0] == MAIN:
                todo += [(MAIN, node_name(tensor)) for tensor in self.nodes[key].input]
        return reached

    def _add(self, scope: str, nodes: Iterable[node_def_pb2.NodeDef]) -> None:
        if scope in self._inside:
            raise SavedModelError("two functions of the graph have the same name", received=repr(scope))
        self._inside[scope] = [(scope, node.name) for node in nodes]
        for key, node in zip(self._inside[scope], nodes, strict=True):
            if key in self.nodes:
                raise SavedModelError("two nodes of the graph have the same name", received=repr(node.name))
            self.nodes[key] = node
            contents = list(_contents(node.attr.values()))
            self.names[key] = [node.op, *(name for name in contents if isinstance(name, str) and name)]
            if constants := [value for value in contents if not isinstance(value, str)]:
                self.constants[key] = constants


def input_of(node: node_def_pb2.NodeDef, index: int) -> str:
    """Return the name of a node's input tensor; empty if there is no such input."""
    return node.input[index] if index < len(node.input) else ""


def node_name(tensor: str) -> str:
    """Return the name of a tensor's node: `^name`, `name:1`, `name:output:0` -> `name`."""
    return tensor.removeprefix("^").split(":")[0]


def _contents(
    attributes: Iterable[attr_value_pb2.AttrValue],
) -> Iterator[str | tensor_pb2.TensorProto]:
    """Yield the names of functions in attributes, and the constants, including those of the functions' attributes."""
    for attribute in attributes:
        match attribute.WhichOneof("value"):
            case "tensor":
                yield attribute.tensor
            case "func":
                yield attribute.func.name
                yield from _contents(attribute.func.attr.values())
            case "list":
                yield from attribute.list.tensor
                for function in attribute.list.func:
                    yield function.name
                    yield from _contents(function.attr.values())


def read_strings(tensor: tensor_pb2.TensorProto) -> Iterable[bytes]:
    """Read the strings of a constant, in either of its two forms; empty for other types.

    Raises:
        SavedModelError: the strings are damaged.
    """
    if tensor.dtype != types_pb2.DT_STRING:
        return ()
    if not tensor.tensor_content:
        return tensor.string_val
    # Check the size before allocation: each string takes at least the byte of its length.
    size, max_size = math.prod(dim.size for dim in tensor.tensor_shape.dim), len(tensor.tensor_content)
    if not 0 <= size <= max_size:
        raise SavedModelError(f"the strings of a constant cannot be read (shape of {size} strings in {max_size} bytes)")
    try:
        return tf.io.parse_tensor(tensor.SerializeToString(), tf.string).numpy().ravel().tolist()
    except tf.errors.InvalidArgumentError as error:
        raise SavedModelError(f"the strings of a constant cannot be read ({error.message})") from None
