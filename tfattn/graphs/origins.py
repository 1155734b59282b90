"""The origins of a tensor, traced back through functions and through variables of strings."""

import functools
from collections import Counter, defaultdict

from tensorflow.core.framework import node_def_pb2, types_pb2

from tfattn.graphs.graph import MAIN, Graph, Node, input_of, node_name

CALLS = {"PartitionedCall", "StatefulPartitionedCall"}  # each input is an argument of the function
SWAPPED = "api_implements"  # TensorFlow may replace a function with this attribute by another


class Origins:
    """The nodes of the main graph from which tensors come unchanged.

    Current exporters keep the path of an asset in a variable, which is assigned while the model is loaded.

    Args:
        graph: the graph of the tensors.
    """

    def __init__(self, graph: Graph):
        self._graph = graph
        self._mentions: Counter[str] = Counter()
        self._calls: dict[str, list[Node]] = defaultdict(list)
        for key, node in graph.nodes.items():
            self._mentions.update(graph.names[key])
            called = node.attr["f"].func.name if node.op in CALLS and "f" in node.attr else node.op
            self._calls[called].append(key)

    def find(self, scope: str, tensor: str) -> set[str | None]:
        """Find the names of the nodes from which a tensor comes, with None for unknown origins.

        Args:
            scope: the function of the tensor, or MAIN.
            tensor: the name of the tensor in the scope.
        """
        found: set[str | None] = set()
        seen: set[Node] = set()
        todo = [(scope, node_name(tensor))]
        while todo:
            key = todo.pop()
            if key in seen:
                continue
            seen.add(key)
            before = self._before(*key)
            node = self._graph.nodes.get(key)
            if before is None and node is not None and node.op == "ReadVariableOp":
                before = self._assigned(key[0], input_of(node, 0))
            if before is not None:
                todo += before
            else:
                found.add(key[1] if key[0] == MAIN else None)
        return found

    def _before(self, scope: str, name: str) -> list[Node] | None:
        """Find the unchanged inputs of a node, or of an argument of a function; None if it makes a new value."""
        node = self._graph.nodes.get((scope, name))
        if node is not None:
            return [(scope, node_name(input_of(node, 0)))] if node.op == "Identity" else None
        if scope == MAIN or SWAPPED in self._graph.functions[scope].attr:
            return None
        arguments = self._graph.functions[scope].signature.input_arg
        names = [argument.name for argument in arguments if not argument.number_attr and not argument.type_list_attr]
        calls = self._calls[scope]
        if name not in names or len(names) < len(arguments) or len(calls) < self._mentions[scope]:
            return None
        inputs = [(caller, _data_inputs(self._graph.nodes[caller, call])) for caller, call in calls]
        if any(len(tensors) != len(names) for _, tensors in inputs):
            return None
        return [(caller, node_name(tensors[names.index(name)])) for caller, tensors in inputs]

    def _assigned(self, scope: str, handle: str) -> list[Node] | None:
        """Find all values that are assigned to a variable of strings; None if unknown."""
        variables = self._variables(scope, handle)
        values = []
        for (writes, _), node in self._string_writers:
            written = self._variables(writes, input_of(node, 0))
            if None in variables | written or variables & written:
                if node.op != "AssignVariableOp":
                    return None
                values.append((writes, node_name(input_of(node, 1))))
        return values or None

    def _variables(self, scope: str, handle: str) -> set[str | None]:
        """Find the shared names of the variables to which a handle may belong, with None for unknown variables."""
        found: set[str | None] = set()
        todo, seen = [(scope, node_name(handle))], set()
        while todo:
            key = todo.pop()
            before = self._before(*key)
            node = self._graph.nodes.get(key)
            if before is not None:
                todo += [inner for inner in before if inner not in seen]
                seen.update(before)
            elif node is not None and node.op == "VarHandleOp" and "shared_name" in node.attr:
                found.add(node.attr["shared_name"].s.decode("utf-8", "replace"))
            else:
                found.add(None)
        return found

    @functools.cached_property
    def _string_writers(self) -> list[tuple[Node, node_def_pb2.NodeDef]]:
        """All nodes that write strings to variables."""
        return [
            (key, node)
            for key, node in self._graph.nodes.items()
            if node.op == "AssignVariableOp" or node.op.startswith("Resource")
            if any(attribute.type == types_pb2.DT_STRING for attribute in node.attr.values())
        ]


def _data_inputs(node: node_def_pb2.NodeDef) -> list[str]:
    return [tensor for tensor in node.input if not tensor.startswith("^")]
