"""The check of the operations of a SavedModel.

A SavedModel is a program: it can call Python, read and write files, open connections. Exports of tfattn do none of
this, and other SavedModels that do are loaded only if the user allows it. While it is loaded, a SavedModel may read its
own variables and assets, and nothing else. The process of the parity check tests that a plain TensorFlow with
tensorflow-text has every operation.
"""

import fnmatch
import functools
from collections.abc import Collection, Iterator

from google.protobuf.message import DecodeError
from tensorflow.core.framework import graph_pb2, node_def_pb2, tensor_pb2, types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from tfattn.errors import SavedModelError
from tfattn.graphs.graph import Graph, Node, input_of, node_name, read_strings
from tfattn.graphs.origins import Origins

# The reasons why operations are denied, and patterns of their names.
DENIED = {
    "runs Python code of the process that saved it": ("*PyFunc*",),
    "runs a graph that is stored as data": ("*Dataset*", "*Iterator*", "GetElementAtIndex", "SymbolicGradient"),
    "runs a program that is stored as data": ("*Xla*", "TRTEngine*", "MlirPassthroughOp"),
    "needs other hardware": ("*TPU*",),
    "calls other machines": ("*Remote*", "*Rpc*", "Collective*", "Nccl*", "Send", "Recv", "_*Send", "_*Recv"),
    "reads files": (
        *("*Reader*", "ReadFile", "MatchingFiles", "RecordInput", "InitializeTableFromTextFile*", "ImmutableConst"),
        *("*Restore*", "LoadAndRemapMatrix", "GenerateVocabRemapping", "FixedUnigramCandidateSampler", "Skipgram"),
        *("DecodeProto*", "EncodeProto", "FileSystemSetConfiguration"),
    ),
    "writes files": (
        *("WriteFile", "Save*", "DistributedSave", "MergeV2Checkpoints", "DumpTensor", "CalibrationStatisticsSaver"),
        *("*SummaryWriter*", "CreateSummary*", "Write*Summary", "ImportEvent", "Debug*"),
    ),
    "ends the process": ("Abort",),
}

# Operations that run only while a SavedModel is loaded, and the input that names the file of variables or an asset.
RESTORES = {"RestoreV2": 0}
INITIALIZES = {"InitializeTableFromTextFile": 1, "InitializeTableFromTextFileV2": 1, "ReadFile": 0}
# Operations that run only when variables are saved again, which a server never does.
SAVES = {"SaveV2", "MergeV2Checkpoints"}

INITIALIZER = "__saved_model_init_op"  # the key of its signature, and of its only output
INITIALIZERS = ("saved_model_main_op", "legacy_init_op")  # collections of initializers in older SavedModels
ASSETS = "saved_model_assets"  # the collection of assets

# Types of objects, such as a data set that runs as soon as it is read.
OBJECTS = {types_pb2.DT_VARIANT, types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT_REF, types_pb2.DT_RESOURCE_REF}

MAX_NAME_LENGTH = 100
MAX_DEPTH = 8  # of graphs in constants of graphs


def check(meta_graph: meta_graph_pb2.MetaGraphDef, *, allowed: Collection[str] = (), remedy: str) -> list[str]:
    """Refuse a SavedModel with operations other than computation.

    Args:
        meta_graph: the graph to load.
        allowed: names of operations to allow that are denied by default.
        remedy: the remedy of the error; `{names}` is replaced by the operations.

    Returns:
        the sorted names of all operations, including those of nested functions and of graphs in constants.

    Raises:
        SavedModelError: an operation is denied; names the operation, its location and the reason.

    Example:
        >>> check(saved_model.meta_graphs[0], remedy="Export it without {names}.")
        ['AddV2', 'NoOp', 'Placeholder']
    """
    graph = Graph(meta_graph.graph_def)
    found, denied = set(), {}
    for scope, node, operation, reason in _findings(
        graph, _allowed_while_loading(graph, meta_graph), "the main graph", 0
    ):
        found.add(operation)
        if reason and operation not in allowed:
            denied.setdefault(operation, (f"{_printable(node.name)} in {_printable(scope)}", reason))
    for operation, (where, reason) in denied.items():
        raise SavedModelError(
            f"the model needs the operation {operation}, which {reason}",
            where=where,
            remedy=remedy.format(names=", ".join(denied)),
        )
    return sorted(found)


def _findings(
    graph: Graph, may: dict[Node, Collection[str]], main: str, depth: int
) -> Iterator[tuple[str, node_def_pb2.NodeDef, str, str]]:
    """Yield each operation of each node: the scope, the node, the operation, and the reason if it is denied."""
    for key, node in graph.nodes.items():
        scope = key[0] or main
        for name in graph.names[key]:  # an operation may be named like a function
            if name not in graph.functions:
                allowed_here = name in may.get(key, ())
                yield scope, node, name, "" if allowed_here else _reason(name) or _attribute_reason(node)
        for tensor in graph.constants.get(key, ()):
            if tensor.dtype in OBJECTS:
                yield scope, node, node.op, "holds an object that can run a graph"
            for inner in _graphs_in(tensor):
                if depth == MAX_DEPTH:
                    yield scope, node, node.op, "holds graphs within graphs within graphs"
                else:
                    yield from _findings(Graph(inner), {}, f"the graph in the constant {node.name}", depth + 1)


@functools.cache
def _reason(operation: str) -> str:
    """Return the reason why an operation is denied; empty if it is allowed."""
    for reason, patterns in DENIED.items():
        if any(fnmatch.fnmatchcase(operation, pattern) for pattern in patterns):
            return reason
    return ""


def _attribute_reason(node: node_def_pb2.NodeDef) -> str:
    """Return the reason why a node's attributes are denied; empty if they are allowed."""
    # `in` comes first: reading a missing key of a message's map would create it.
    if node.op == "PrintV2" and "output_stream" in node.attr and node.attr["output_stream"].s.startswith(b"file:"):
        return "writes files"
    if node.op == "ParseTensor" and "out_type" in node.attr and node.attr["out_type"].type in OBJECTS:
        return "reads an object that can run a graph"
    return ""


def _graphs_in(tensor: tensor_pb2.TensorProto) -> Iterator[graph_pb2.GraphDef]:
    """Parse the serialized graphs among the strings of a constant."""
    for text in read_strings(tensor):
        try:
            graph = graph_pb2.GraphDef.FromString(text)
        except DecodeError:
            continue
        if graph.ByteSize() and all(node.name and node.op for node in graph.node):
            yield graph


def _allowed_while_loading(graph: Graph, meta_graph: meta_graph_pb2.MetaGraphDef) -> dict[Node, Collection[str]]:
    """Find the nodes that run only while the SavedModel is loaded or saved, and their allowed operations."""
    saver, signatures = meta_graph.saver_def, meta_graph.signature_def
    served = graph.reached(
        info.name for key, signature in signatures.items() if key != INITIALIZER for info in signature.outputs.values()
    )
    initialized = graph.reached(_initializers(meta_graph)) - served
    restored = graph.reached([saver.restore_op_name]) - served
    saved = graph.reached([saver.save_tensor_name]) - served - initialized - restored
    origins = Origins(graph)
    may: dict[Node, Collection[str]] = dict.fromkeys(saved, SAVES)
    for reached, readers, files in (
        (restored - initialized, RESTORES, {node_name(saver.filename_tensor_name)}),
        (initialized - restored, INITIALIZES, _assets(meta_graph)),
    ):
        for scope, name in reached:
            node = graph.nodes[scope, name]
            if (
                node.op in readers
                and (found := origins.find(scope, input_of(node, readers[node.op])))
                and found <= files
            ):
                may[scope, name] = {node.op}
    return may


def _printable(name: str) -> str:
    """Make a name safe for a message: ASCII only, and shortened."""
    return ascii(name)[1:-1][:MAX_NAME_LENGTH]


def _initializers(meta_graph: meta_graph_pb2.MetaGraphDef) -> Iterator[str]:
    """Yield the names of the operations that run after the variables are restored."""
    if INITIALIZER in meta_graph.signature_def:
        yield from (info.name for info in meta_graph.signature_def[INITIALIZER].outputs.values())
    for key in INITIALIZERS:
        if key in meta_graph.collection_def:
            yield from meta_graph.collection_def[key].node_list.value


def _assets(meta_graph: meta_graph_pb2.MetaGraphDef) -> set[str]:
    """Find the constants that hold the names of assets."""
    assets = list(meta_graph.asset_file_def)
    if not assets and ASSETS in meta_graph.collection_def:  # of an older SavedModel
        for packed in meta_graph.collection_def[ASSETS].any_list.value:
            assets.append(asset := meta_graph_pb2.AssetFileDef())
            packed.Unpack(asset)
    return {node_name(asset.tensor_info.name) for asset in assets}
