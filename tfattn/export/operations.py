"""The operations that an export consists of, held against what a server should ever run.

A SavedModel is a program: it can call Python, read and write files, open connections. What is exported here does none
of that, and the check makes sure. Whether a plain TensorFlow with tensorflow-text knows every operation is found out
where there is nothing else, in the process of the parity check (parity_worker.py).
"""

import fnmatch
from collections.abc import Iterable, Iterator
from pathlib import Path

from tensorflow.core.framework import attr_value_pb2, node_def_pb2, types_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from tfattn.errors import ExportError

# Patterns of operations, and why an answer may not depend on them.
DENIED = {
    "*PyFunc*": "runs Python code of the exporting process",
    "*Dataset*": "runs a graph that is stored as data",
    "*Iterator*": "runs a graph that is stored as data",
    "Xla*": "runs a program that is stored as data",
    "TRTEngine*": "runs a program that is stored as data",
    "TPU*": "needs other hardware",
    "*Remote*": "calls other machines",
    "*Rpc*": "calls other machines",
    "Collective*": "calls other machines",
    "_*Send": "calls other machines",
    "_*Recv": "calls other machines",
    "*Reader*": "reads files",
    "ReadFile": "reads files",
    "MatchingFiles": "reads files",
    "InitializeTableFromTextFile*": "reads files",
    "Restore*": "reads files",
    "DecodeProto*": "reads files",
    "EncodeProto": "reads files",
    "ImmutableConst": "reads files",
    "WriteFile": "writes files",
    "Save*": "writes files",
    "MergeV2Checkpoints": "writes files",
    "Print*": "writes files",
    "*Summary*": "writes files",
    "Debug*": "writes files",
}

# What only the saver of a SavedModel may do, and what only its initialiser may: it reads the assets.
SAVER_MAY = {"SaveV2", "RestoreV2", "MergeV2Checkpoints"}
INITIALISER_MAY = {"InitializeTableFromTextFile", "InitializeTableFromTextFileV2", "ReadFile"}
INITIALISER = "__saved_model_init_op"  # the key of its signature

# Constants of these types are objects, not numbers or text: a data set that runs as soon as it is read, for one.
OBJECTS = {types_pb2.DT_VARIANT, types_pb2.DT_RESOURCE}

MAIN = "the main graph"


def operations(folder: Path) -> list[str]:
    """The names of all operations of a SavedModel, those of nested functions included, sorted.

    Args:
        folder: the version's folder, which holds saved_model.pb.

    Raises:
        ExportError: one of them is denied where it stands; names it, its place and the reason.
    """
    graph = _Graph(read_meta_graph(folder))
    allowances = graph.allowances()
    found = set()
    for place, node in graph.nodes():
        for operation in graph.operations_of(node):
            found.add(operation)
            if operation not in allowances.get((place, node.name), ()):
                _refuse_denied(operation, node, place)
    return sorted(found)


def read_meta_graph(folder: Path) -> meta_graph_pb2.MetaGraphDef:
    """The one graph of an export."""
    return saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs[0]


class _Graph:
    """The main graph and its functions. A node is known by its place, a function's name or MAIN, and its name."""

    def __init__(self, meta_graph: meta_graph_pb2.MetaGraphDef):
        library = meta_graph.graph_def.library.function
        self.places = {MAIN: meta_graph.graph_def.node, **{item.signature.name: item.node_def for item in library}}
        self.main = {node.name: node for node in meta_graph.graph_def.node}
        self.saver = meta_graph.saver_def
        self.outputs = {
            key: [info.name for info in signature.outputs.values()]
            for key, signature in meta_graph.signature_def.items()
        }

    def nodes(self) -> Iterator[tuple[str, node_def_pb2.NodeDef]]:
        return ((place, node) for place, nodes in self.places.items() for node in nodes)

    def operations_of(self, node: node_def_pb2.NodeDef) -> Iterator[str]:
        """Its own operation, and those that its attributes name: an operation may stand in a function's place."""
        return (name for name in (node.op, *_functions_of(node.attr.values())) if name not in self.places)

    def allowances(self) -> dict[tuple[str, str], set[str]]:
        """What the nodes may do that belong to the saver or the initialiser alone."""
        answering = [name for key, names in self.outputs.items() if key != INITIALISER for name in names]
        reached_by_answers = self.reached(answering)
        saver = self.reached([self.saver.save_tensor_name, self.saver.restore_op_name])
        initialiser = self.reached(self.outputs.get(INITIALISER, []))
        allowed: dict[tuple[str, str], set[str]] = {}
        for reached, operations in ((saver, SAVER_MAY), (initialiser, INITIALISER_MAY)):
            for key in reached - reached_by_answers:
                allowed.setdefault(key, set()).update(operations)
        return allowed

    def reached(self, tensors: Iterable[str]) -> set[tuple[str, str]]:
        """Every node that these tensors of the main graph depend on."""
        todo = [(MAIN, self.main[name]) for name in map(_node_name, tensors) if name in self.main]
        reached: set[tuple[str, str]] = set()
        while todo:
            place, node = todo.pop()
            if (place, node.name) in reached:
                continue
            reached.add((place, node.name))
            for function in (node.op, *_functions_of(node.attr.values())):
                todo += [(function, inner) for inner in self.places.get(function, ())]
            if place == MAIN:
                todo += [(MAIN, self.main[name]) for name in map(_node_name, node.input)]
        return reached


def _refuse_denied(operation: str, node: node_def_pb2.NodeDef, place: str) -> None:
    reasons = [reason for pattern, reason in DENIED.items() if fnmatch.fnmatchcase(operation, pattern)]
    if operation == "Const" and node.attr["dtype"].type in OBJECTS:
        reasons.append("holds an object that can run a graph")
    if reasons:
        raise ExportError(
            f"the model needs the operation {operation}, which {reasons[0]}",
            where=f"{node.name} in {place}",
            remedy="Use operations of TensorFlow and tensorflow-text that only compute.",
        )


def _functions_of(attributes: Iterable[attr_value_pb2.AttrValue]) -> Iterator[str]:
    """The functions that attributes name, and those that they are given as attributes in turn."""
    for attribute in attributes:
        for function in (attribute.func, *attribute.list.func):
            if function.name:
                yield function.name
            yield from _functions_of(function.attr.values())


def _node_name(tensor: str) -> str:
    """`^name`, `name:1` -> `name`."""
    return tensor.removeprefix("^").split(":")[0]
