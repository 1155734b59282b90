"""The division of an export at its networks: the graph before them, the networks, and the graph after them.

LiteRT computes numbers and not texts. A signature is answer(networks(features(inputs))). It is traced once with
placeholders for the outputs of networks. The operations that depend on one are the graph after the networks. Nothing is
computed twice: tensors that the graph after the networks needs from the graph before them are passed on.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from tfattn.errors import ExportError
from tfattn.export.servable_model import Network, ServableModel

# The signatures of the SavedModel around the networks of a signature are BEFORE + its name and AFTER + its name.
BEFORE, AFTER = "litert_before_", "litert_after_"
# The names of tensors of the functions around the networks; other names are those of network inputs and outputs.
PASSED_ON, RESULT = "passed_on_", "result_"


class Halves(NamedTuple):
    """Two functions around the networks.

    Attributes:
        before: inputs -> the inputs of the networks, tensors that are passed on, and the results that do not depend on
            the networks.
        after: the outputs of the networks and the tensors that are passed on -> the other results.
    """

    before: Any
    after: Any

    def compute(self, network: Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]], *inputs: Any) -> dict:
        """Return all results, arrays by name, with a function of arrays as the networks."""
        found = {name: value.numpy() for name, value in self.before(*inputs).items()}
        given = {**found, **network(found)}
        names = [spec.name for spec in self.after.input_signature]
        found |= {x: y.numpy() for x, y in self.after(*(tf.convert_to_tensor(given[name]) for name in names)).items()}
        return {name.removeprefix(RESULT): value for name, value in found.items() if name.startswith(RESULT)}


class Split(NamedTuple):
    """The parts of a signature.

    Attributes:
        name: the name of the signature.
        network: the inputs of the networks -> their outputs; ids and masks are int32.
        answer: the functions around the networks that compute the outputs of the signature.
        predictions: the functions that compute the predictions of the task; None for an export without a task.
    """

    name: str
    network: Any
    answer: Halves
    predictions: Halves | None

    @property
    def signatures(self) -> dict[str, Any]:
        """The additional signatures of the SavedModel."""
        return {f"{BEFORE}{self.name}": self.answer.before, f"{AFTER}{self.name}": self.answer.after}


class _Call(NamedTuple):
    """A call of a network: its trace, and its inputs and placeholders of its outputs in the outer graph, by name."""

    traced: Any
    features: Mapping[str, tf.Tensor]
    outputs: Mapping[str, tf.Tensor]


def split(served: ServableModel, name: str = "serving_default") -> Split:
    """Divide a signature of an export at its networks.

    Raises:
        ExportError: the export has no network that is called once with tensors of the graph, such as a table of word
            vectors or a decoder that runs in a loop.
    """
    function = served.signatures()[name]
    calls: list[_Call] = []

    def call(network: Network, features: Mapping[str, tf.Tensor]) -> dict[str, Any]:
        calls.append(_called(network, features))
        return calls[-1].outputs

    answer = tf.function(
        lambda *inputs: function.python_function(*inputs), input_signature=function.input_signature, autograph=False
    )
    with Network.replaced(call), served.recorded_predictions() as predictions:
        traced = answer.get_concrete_function()
    in_graph = all(tensor.graph is traced.graph for call in calls for tensor in call.features.values())
    if not calls or not in_graph:
        raise _not_offered(served.name)
    inputs = [spec.name for spec in function.input_signature]
    return _divide(name, traced, calls, inputs, predictions[0] if predictions else {})


def split_all(served: ServableModel) -> list[Split]:
    """Divide the signatures that LiteRT computes: serving_default and, if there is one, `features`."""
    return [split(served), *(split(served, name) for name in ("features",) if name in served.signatures())]


def _not_offered(name: str) -> ExportError:
    return ExportError(
        f"LiteRT is not offered for this export ({name})",
        expected="a network of numbers that is computed once for each request",
        received="no network, or one that is computed in a loop",
        remedy="Remove `litert` from `export.formats`.",
    )


class _Outputs(dict[str, tf.Tensor]):
    """The placeholders of a network. Outputs that are not a tensor, such as the state of a decoder, have none."""

    def __missing__(self, name: str) -> tf.Tensor:
        raise _not_offered(name)


def _called(network: Network, features: Mapping[str, tf.Tensor]) -> _Call:
    """Return a call with a placeholder for each tensor that the network computes."""
    specs = {name: tf.TensorSpec(x.shape, x.dtype, name=name) for name, x in features.items()}
    traced = tf.function(lambda features: network.run(features), autograph=False).get_concrete_function(specs)
    given = dict(zip((spec.name for spec in tf.nest.flatten(specs)), traced.inputs, strict=False))
    by_tensor = {tensor.ref(): name for name, tensor in given.items()}
    outputs = _Outputs()
    for name, tensor in traced.structured_outputs.items():
        if not isinstance(tensor, tf.Tensor):  # lists of layers, which no export reads
            continue
        source = tensor.op.inputs[0] if tensor.op.type == "Identity" else tensor
        if source.ref() in by_tensor:
            outputs[name] = features[by_tensor[source.ref()]]
        else:
            outputs[name] = tf.compat.v1.placeholder(tensor.dtype, tensor.shape, name=f"network/{name}")
    return _Call(traced, features, outputs)


def _divide(
    name: str, traced: Any, calls: Sequence[_Call], inputs: Sequence[str], predictions: Mapping[str, tf.Tensor]
) -> Split:
    raw = dict(zip(inputs, traced.inputs, strict=False))
    placeholders = [x for call in calls for x in call.outputs.values() if x.op.type == "Placeholder"]
    is_after = _reached_from([tensor.op for tensor in placeholders])
    # The results before the identities that a function adds, so that a passed-on tensor is found to be one.
    results = dict(traced.structured_outputs)
    needed = _needed([x.op for x in (*results.values(), *predictions.values()) if x.op in is_after], within=is_after)
    features, outputs, network = _network(calls, [tensor for tensor in placeholders if tensor.op in needed])

    def halves(wanted: Mapping[str, tf.Tensor]) -> Halves:
        return _halves(traced, raw, features, outputs, wanted, is_after)

    return Split(name, network, halves(results), halves(predictions) if predictions else None)


def _halves(
    traced: Any,
    raw: Mapping[str, tf.Tensor],
    features: Mapping[str, tf.Tensor],
    outputs: Mapping[str, tf.Tensor],
    wanted: Mapping[str, tf.Tensor],
    is_after: set[tf.Operation],
) -> Halves:
    """Return the functions around the networks that compute some tensors of the traced graph."""
    late = {name: tensor for name, tensor in wanted.items() if tensor.op in is_after}
    early = {name: tensor for name, tensor in wanted.items() if name not in late}
    is_given = _reached_from([tensor.op for tensor in raw.values()])
    crossing = {
        tensor.ref(): tensor
        for op in _needed([tensor.op for tensor in late.values()], within=is_after)
        for tensor in op.inputs
        if tensor.op not in is_after and tensor.op in is_given
    }
    passed_on = {f"{PASSED_ON}{number}": tensor for number, tensor in enumerate(crossing.values())}
    checks = traced.graph.control_outputs
    return Halves(
        before=_function(
            traced,
            arguments=raw,
            fetches={**features, **passed_on, **{f"{RESULT}{name}": tensor for name, tensor in early.items()}},
            kept=[op for op in checks if op not in is_after],
            side=set(traced.graph.get_operations()) - is_after,
        ),
        after=_function(
            traced,
            arguments={**outputs, **passed_on},
            fetches={f"{RESULT}{name}": tensor for name, tensor in late.items()},
            kept=[op for op in checks if op in is_after],
            side=is_after,
        ),
    )


def _network(
    calls: Sequence[_Call], used: Sequence[tf.Tensor]
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor], Any]:
    """Return the inputs and the outputs of all networks by name, and the function that computes them together."""
    features: dict[str, tf.Tensor] = {}
    outputs: dict[str, tf.Tensor] = {}
    plans = []
    for number, call in enumerate(calls):
        wanted = {name: x for name, x in call.outputs.items() if any(x is other for other in used)}
        read = _inputs_read(call.traced, wanted)
        names = {name: _unique(features, name, call.features[name], number) for name in read}
        results = {name: _unique(outputs, name, x, number) for name, x in wanted.items()}
        plans.append((call, names, results))
    specs = [tf.TensorSpec(x.shape, _plain(x.dtype), name=name) for name, x in features.items()]

    def compute(*given: tf.Tensor) -> dict[str, tf.Tensor]:
        by_name = dict(zip(features, given, strict=True))
        found = {}
        for call, names, results in plans:
            arguments = {
                name: tf.cast(by_name[names[name]], x.dtype)
                if name in names
                else tf.zeros([size or 1 for size in x.shape], x.dtype)
                for name, x in call.features.items()
            }
            computed = call.traced(arguments)
            found |= {results[name]: computed[name] for name in results}
        return found

    return features, outputs, tf.function(compute, input_signature=specs, autograph=False)


def _inputs_read(traced: Any, wanted: Iterable[str]) -> list[str]:
    """Return the names of the inputs that some outputs depend on."""
    names = list(traced.structured_input_signature[0][0])
    tensors = dict(zip(sorted(names), traced.inputs, strict=False))
    needed = _needed([traced.structured_outputs[name].op for name in wanted])
    return [name for name in names if tensors[name].op in needed]


def _unique(named: dict[str, tf.Tensor], name: str, tensor: tf.Tensor, number: int) -> str:
    """Add a tensor under its name, or under another name if a different tensor has it; return the name."""
    name = name if name not in named or named[name] is tensor else f"{name}_{number}"
    named[name] = tensor
    return name


def _plain(dtype: tf.DType) -> tf.DType:
    """Return int32 for ids and masks: the only integers that every LiteRT runtime takes as inputs."""
    return tf.int32 if dtype.is_integer or dtype.is_bool else dtype


def _reached_from(starts: Iterable[tf.Operation]) -> set[tf.Operation]:
    """Return the operations that depend on others, and those."""
    reached, todo = set(starts), list(starts)
    while todo:
        op = todo.pop()
        for consumer in (consumer for tensor in op.outputs for consumer in tensor.consumers()):
            if consumer not in reached:
                reached.add(consumer)
                todo.append(consumer)
    return reached


def _needed(ends: Iterable[tf.Operation], within: set[tf.Operation] | None = None) -> set[tf.Operation]:
    """Return the operations that others depend on, and those."""
    ends = list(ends)
    needed, todo = set(ends), ends
    while todo:
        op = todo.pop()
        for source in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            if source not in needed and (within is None or source in within):
                needed.add(source)
                todo.append(source)
    return needed


def _function(
    traced: Any,
    *,
    arguments: Mapping[str, tf.Tensor],
    fetches: Mapping[str, tf.Tensor],
    kept: Sequence[tf.Operation],
    side: Collection[tf.Operation],
) -> Any:
    """Return a function of some tensors of a graph that computes others.

    Args:
        traced: the function with the graph.
        arguments: the arguments of the new function, by name.
        fetches: its results, by name.
        kept: operations that run in any case, such as checks of the inputs.
        side: the operations whose control dependencies are kept: those of the same half.
    """
    graph = traced.graph
    boundary = {tensor.ref() for tensor in arguments.values()}
    fed = {tensor.op for tensor in arguments.values()}
    nodes = set()
    todo = [tensor.op for tensor in fetches.values() if tensor.ref() not in boundary] + list(kept)
    while todo:
        op = todo.pop()
        if op in nodes:
            continue
        nodes.add(op)
        todo += [tensor.op for tensor in op.inputs if tensor.ref() not in boundary]
        todo += [source for source in op.control_inputs if source in side and source not in fed]
    names = {op.name for op in nodes}
    definition = graph_pb2.GraphDef()
    whole = graph.as_graph_def()
    definition.versions.CopyFrom(whole.versions)
    definition.library.CopyFrom(whole.library)
    argument_names = {tensor.name: f"argument_{number}" for number, tensor in enumerate(arguments.values())}
    for node in whole.node:
        if node.name in names:
            copied = definition.node.add()
            copied.CopyFrom(node)
            del copied.input[:]
            for source in node.input:
                if source.startswith("^"):
                    copied.input.extend([source] if source[1:] in names else [])
                else:
                    full = source if ":" in source else f"{source}:0"
                    copied.input.append(argument_names.get(full, source))
    for tensor in arguments.values():
        node = definition.node.add(name=argument_names[tensor.name], op="Placeholder")
        node.attr["dtype"].type = tensor.dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
    captured = {inner.op.name: outer for outer, inner in graph.captures if inner.op.name in names}

    def compute(*given: tf.Tensor) -> dict[str, tf.Tensor]:
        scope = tf.compat.v1.get_default_graph()
        fed = dict(zip(argument_names.values(), given, strict=True))
        fed |= {name: scope.capture(tensor) for name, tensor in captured.items()}
        ends = [argument_names.get(tensor.name, tensor.name) for tensor in fetches.values()]
        ends = [end if ":" in end else f"{end}:0" for end in ends]
        found = tf.graph_util.import_graph_def(definition, input_map=fed, return_elements=ends, name="")
        return {name: tf.identity(tensor) for name, tensor in zip(fetches, found, strict=True)}

    specs = [tf.TensorSpec(tensor.shape, tensor.dtype, name=name) for name, tensor in arguments.items()]
    return tf.function(compute, input_signature=specs, autograph=False)
