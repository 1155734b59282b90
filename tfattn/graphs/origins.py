"""The origins of a tensor, traced back through functions and through variables that hold text."""

import functools
from collections import Counter, defaultdict

from tensorflow.core.framework import node_def_pb2, types_pb2

from tfattn.graphs.graph import MAIN, Graph, Node, input_of, node_name

CALLS = {"PartitionedCall", "StatefulPartitionedCall"}  # they pass each input on to one argument
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

    def of(self, place: str, tensor: str) -> set[str | None]:
        """Find the names of the nodes from which a tensor comes; None among them where that cannot be told.

        Args:
            place: the function in which the tensor is named, or MAIN.
            tensor: its name there.
        """
        found: set[str | None] = set()
        seen: set[Node] = set()
        todo = [(place, node_name(tensor))]
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

    def _before(self, place: str, name: str) -> list[Node] | None:
        """Find what a node, or an argument of a function, passes on unchanged; None where it makes a new value."""
        node = self._graph.nodes.get((place, name))
        if node is not None:
            return [(place, node_name(input_of(node, 0)))] if node.op == "Identity" else None
        if place == MAIN or SWAPPED in self._graph.functions[place].attr:
            return None
        arguments = self._graph.functions[place].signature.input_arg
        names = [one.name for one in arguments if not one.number_attr and not one.type_list_attr]
        calls = self._calls[place]
        if name not in names or len(names) < len(arguments) or len(calls) < self._mentions[place]:
            return None
        inputs = [(caller, _data_inputs(self._graph.nodes[caller, call])) for caller, call in calls]
        if any(len(tensors) != len(names) for _, tensors in inputs):
            return None
        return [(caller, node_name(tensors[names.index(name)])) for caller, tensors in inputs]

    def _assigned(self, place: str, handle: str) -> list[Node] | None:
        """Find all values that are assigned to a variable of text; None where that cannot be told."""
        variables = self._variables(place, handle)
        values = []
        for (writes, _), node in self._writing_text:
            written = self._variables(writes, input_of(node, 0))
            if None in variables | written or variables & written:
                if node.op != "AssignVariableOp":
                    return None
                values.append((writes, node_name(input_of(node, 1))))
        return values or None

    def _variables(self, place: str, handle: str) -> set[str | None]:
        """Find the shared names of the variables to which a handle may belong; None among them where it is unknown."""
        found: set[str | None] = set()
        todo, seen = [(place, node_name(handle))], set()
        while todo:
            key = todo.pop()
            before = self._before(*key)
            node = self._graph.nodes.get(key)
            if before is not None:
                todo += [one for one in before if one not in seen]
                seen.update(before)
            elif node is not None and node.op == "VarHandleOp" and "shared_name" in node.attr:
                found.add(node.attr["shared_name"].s.decode("utf-8", "replace"))
            else:
                found.add(None)
        return found

    @functools.cached_property
    def _writing_text(self) -> list[tuple[Node, node_def_pb2.NodeDef]]:
        """All nodes that write text to variables."""
        return [
            (key, node)
            for key, node in self._graph.nodes.items()
            if node.op == "AssignVariableOp" or node.op.startswith("Resource")
            if any(attribute.type == types_pb2.DT_STRING for attribute in node.attr.values())
        ]


def _data_inputs(node: node_def_pb2.NodeDef) -> list[str]:
    return [tensor for tensor in node.input if not tensor.startswith("^")]
