"""The check of the operations of a SavedModel.

A SavedModel is a program: it can call Python, read and write files, open connections. What is exported here does none
of that, and what others exported is not loaded if it does, unless the user allows it. While it is loaded, a SavedModel
may read its own variables and assets, and nothing else. Whether a plain TensorFlow with tensorflow-text has every
operation is tested in the process of the parity check, which has nothing else.
"""

import fnmatch
import functools
from collections.abc import Collection, Iterator

from google.protobuf.message import DecodeError
from tensorflow.core.framework import graph_pb2, node_def_pb2, tensor_pb2, types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from tfattn.errors import SavedModelError
from tfattn.graphs.graph import Graph, Node, input_of, node_name
from tfattn.graphs.origins import Origins
from tfattn.graphs.strings import strings_of

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

# Operations that run only while a SavedModel is loaded, and which input names the file: the variables', or an asset.
RESTORES = {"RestoreV2": 0}
INITIALISES = {"InitializeTableFromTextFile": 1, "InitializeTableFromTextFileV2": 1, "ReadFile": 0}
# Operations that run only when its variables are saved again, which a server never does.
SAVES = {"SaveV2", "MergeV2Checkpoints"}

INITIALISER = "__saved_model_init_op"  # the key of its signature, and of the one output there
INITIALISERS = ("saved_model_main_op", "legacy_init_op")  # the collections of initialisers in older SavedModels
ASSETS = "saved_model_assets"  # that of assets

# Objects, not numbers or text, such as a data set that runs as soon as it is read.
OBJECTS = {types_pb2.DT_VARIANT, types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT_REF, types_pb2.DT_RESOURCE_REF}

LONGEST_NAME = 100
DEEPEST = 8  # graphs in constants of graphs


def check(meta_graph: meta_graph_pb2.MetaGraphDef, *, allowed: Collection[str] = (), remedy: str) -> list[str]:
    """Refuse a SavedModel that would do more than compute.

    Args:
        meta_graph: the graph that is to be loaded.
        allowed: names of operations that are allowed although they are denied by default.
        remedy: what to do about a refusal; `{names}` stands for the operations.

    Returns:
        the names of all its operations, those of nested functions and of graphs in constants included, sorted.

    Raises:
        SavedModelError: one of them is denied where it stands; names it, its place and the reason.

    Example:
        >>> check(saved_model.meta_graphs[0], remedy="Export it without {names}.")
        ['AddV2', 'NoOp', 'Placeholder']
    """
    graph = Graph(meta_graph.graph_def)
    found, refused = set(), {}
    for place, node, operation, reason in _findings(graph, _may_while_loading(graph, meta_graph), "the main graph", 0):
        found.add(operation)
        if reason and operation not in allowed:
            refused.setdefault(operation, (f"{_shown(node.name)} in {_shown(place)}", reason))
    for operation, (where, reason) in refused.items():
        raise SavedModelError(
            f"the model needs the operation {operation}, which {reason}",
            where=where,
            remedy=remedy.format(names=", ".join(refused)),
        )
    return sorted(found)


def _findings(
    graph: Graph, may: dict[Node, Collection[str]], main: str, depth: int
) -> Iterator[tuple[str, node_def_pb2.NodeDef, str, str]]:
    """Yield each operation of each node: the node's place, the node, the operation, and the reason if it is denied."""
    for key, node in graph.nodes.items():
        place = key[0] or main
        for name in graph.names[key]:  # an operation may stand in a function's place
            if name not in graph.functions:
                allowed_here = name in may.get(key, ())
                yield place, node, name, "" if allowed_here else _reason(name) or _reason_of_attributes(node)
        for tensor in graph.constants.get(key, ()):
            if tensor.dtype in OBJECTS:
                yield place, node, node.op, "holds an object that can run a graph"
            for inner in _graphs_in(tensor):
                if depth == DEEPEST:
                    yield place, node, node.op, "holds graphs within graphs within graphs"
                else:
                    yield from _findings(Graph(inner), {}, f"the graph in the constant {node.name}", depth + 1)


@functools.cache
def _reason(operation: str) -> str:
    """Return the reason why an operation is denied; empty where it is allowed."""
    for reason, patterns in DENIED.items():
        if any(fnmatch.fnmatchcase(operation, pattern) for pattern in patterns):
            return reason
    return ""


def _reason_of_attributes(node: node_def_pb2.NodeDef) -> str:
    """Return the reason why a node's attributes are denied; empty where they are allowed."""
    # `in` comes first: reading a missing key of a message's map would create it.
    if node.op == "PrintV2" and "output_stream" in node.attr and node.attr["output_stream"].s.startswith(b"file:"):
        return "writes files"
    if node.op == "ParseTensor" and "out_type" in node.attr and node.attr["out_type"].type in OBJECTS:
        return "reads an object that can run a graph"
    return ""


def _graphs_in(tensor: tensor_pb2.TensorProto) -> Iterator[graph_pb2.GraphDef]:
    """Parse the serialized graphs among a constant's texts."""
    for text in strings_of(tensor):
        try:
            graph = graph_pb2.GraphDef.FromString(text)
        except DecodeError:
            continue
        if graph.ByteSize() and all(node.name and node.op for node in graph.node):
            yield graph


def _may_while_loading(graph: Graph, meta_graph: meta_graph_pb2.MetaGraphDef) -> dict[Node, Collection[str]]:
    """Find the nodes that run only while the SavedModel is loaded or saved, and the operations that they may have."""
    saver, signatures = meta_graph.saver_def, meta_graph.signature_def
    served = graph.reached(
        info.name for key, signature in signatures.items() if key != INITIALISER for info in signature.outputs.values()
    )
    initialised = graph.reached(_initialisers(meta_graph)) - served
    restored = graph.reached([saver.restore_op_name]) - served
    saved = graph.reached([saver.save_tensor_name]) - served - initialised - restored
    origins = Origins(graph)
    may: dict[Node, Collection[str]] = dict.fromkeys(saved, SAVES)
    for reached, readers, files in (
        (restored - initialised, RESTORES, {node_name(saver.filename_tensor_name)}),
        (initialised - restored, INITIALISES, _assets(meta_graph)),
    ):
        for place, name in reached:
            node = graph.nodes[place, name]
            if node.op in readers and (found := origins.of(place, input_of(node, readers[node.op]))) and found <= files:
                may[place, name] = {node.op}
    return may


def _shown(name: str) -> str:
    """Make a name safe for a message: ASCII only, and not too long."""
    return ascii(name)[1:-1][:LONGEST_NAME]


def _initialisers(meta_graph: meta_graph_pb2.MetaGraphDef) -> Iterator[str]:
    """Yield the names of the operations that run once the variables are restored."""
    if INITIALISER in meta_graph.signature_def:
        yield from (info.name for info in meta_graph.signature_def[INITIALISER].outputs.values())
    for key in INITIALISERS:
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
