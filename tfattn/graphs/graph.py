"""A graph and its functions: nodes by their places, and what they depend on."""

from collections.abc import Iterable, Iterator

from tensorflow.core.framework import attr_value_pb2, function_pb2, graph_pb2, node_def_pb2, tensor_pb2

from tfattn.errors import SavedModelError

MAIN = ""  # the place of nodes that stand in no function

Node = tuple[str, str]  # its place, which is a function's name or MAIN, and its name there


class Graph:
    """The nodes, functions and constants of a GraphDef.

    Args:
        definition: the graph with its library of functions.

    Attributes:
        nodes: each node by its place and name.
        functions: each function by its name.
        names: for each node the name of its operation, and those in its attributes; any may be a function's.
        constants: the constants of each node that has some.

    Raises:
        SavedModelError: two functions, or two nodes of a place, have one name.
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
        """Find every node that these tensors of the main graph depend on."""
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

    def _add(self, place: str, nodes: Iterable[node_def_pb2.NodeDef]) -> None:
        if place in self._inside:
            raise SavedModelError("two functions of the graph have the same name", received=repr(place))
        self._inside[place] = [(place, node.name) for node in nodes]
        for key, node in zip(self._inside[place], nodes, strict=True):
            if key in self.nodes:
                raise SavedModelError("two nodes of the graph have the same name", received=repr(node.name))
            self.nodes[key] = node
            contents = list(_contents(node.attr.values()))
            self.names[key] = [node.op, *(one for one in contents if isinstance(one, str) and one)]
            if constants := [one for one in contents if not isinstance(one, str)]:
                self.constants[key] = constants


def input_of(node: node_def_pb2.NodeDef, index: int) -> str:
    """Return the name of a node's input tensor; empty where it has none."""
    return node.input[index] if index < len(node.input) else ""


def node_name(tensor: str) -> str:
    """Return the name of a tensor's node: `^name`, `name:1`, `name:output:0` -> `name`."""
    return tensor.removeprefix("^").split(":")[0]


def _contents(
    attributes: Iterable[attr_value_pb2.AttrValue],
) -> Iterator[str | tensor_pb2.TensorProto]:
    """Yield the names of functions in attributes, and the constants, those in the functions' attributes included."""
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
