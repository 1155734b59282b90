"""The contract check of exports."""

import asyncio
import functools
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.saved_model.loader_impl import parse_saved_model

from tfattn.export import saved_model
from tfattn.export.network_split import split
from tfattn.export.servable_model import ServableModel
from tfattn.litert.converter import convert
from tfattn.litert.model import LiteRtModel
from tfattn.serving.api.signature import Signature
from tfattn.serving.client.row_values import decoded
from tfattn.serving.engine.batching import Batcher
from tfattn.serving.engine.batching_parameters import BatchingParameters
from tfattn.trained.ensemble import TrainedEnsemble

SERVING_DEFAULT = "serving_default"


def check_servable_model(
    served_class: type[ServableModel],
    ensemble: TrainedEnsemble,
    rows: Sequence[Mapping[str, str]],
    *,
    folder: Path,
    expected: Mapping[str, np.ndarray] | None = None,
    litert: bool = False,
) -> dict[str, np.ndarray]:
    """Check the contract of exports.

    Args:
        served_class: the class, which is called with the ensemble.
        ensemble: trained models.
        rows: at least two raw rows of unequal lengths.
        folder: an empty folder for a SavedModel.
        expected: the predictions for these rows; by default those of the ensemble.
        litert: whether to compute the networks with LiteRT too.

    Returns:
        the outputs of serving_default of the SavedModel for these rows.
    """
    served = served_class(ensemble)
    functions, request = served.signatures(), served.request(rows)
    optional = _optional(functions[SERVING_DEFAULT])
    assert set(served.inputs) <= set(request) <= {*served.inputs, *optional}
    assert all(len(values) == len(rows) for values in request.values())

    # It is saved and loaded without any of our code, and answers as the trained models do.
    saved_model._save(served, folder / "1")
    assert all(path.is_file() for path in (folder / "1/assets").iterdir())
    loaded = load(folder / "1")
    assert set(loaded.signatures) == set(functions) >= {SERVING_DEFAULT, *served.methods}
    outputs = _called(loaded, SERVING_DEFAULT, request)
    expected = {**request, **(ensemble.predict(rows) if expected is None else expected)}
    comparison = served.compare(expected, _plain(outputs), tolerance=1e-5)
    assert not comparison.wrong.any(), comparison.words
    assert set(comparison.report) and comparison.expected(0) and comparison.received(0)

    # An output has a value for each row, which does not depend on the other rows; no name promises bytes.
    for number in range(len(rows)):
        one = {name: values[number : number + 1] for name, values in request.items()}
        alone = _called(loaded, SERVING_DEFAULT, one)
        for name, values in outputs.items():
            assert len(values) == len(rows) and not name.endswith("_bytes")
            value, together = alone[name], values[number : number + 1]
            if together.shape != value.shape:  # a list is as long as that of the row with the longest
                assert not together[:, value.shape[1] :].any()
                together = together[:, : value.shape[1]]
            assert_alike(value, together)

    # A server answers a request of more rows than it computes at a time as if each were alone, but for padding.
    some = {name: list(itertools.islice(itertools.cycle(values), 5)) for name, values in request.items()}
    for name in (SERVING_DEFAULT, *sorted(served.attention_signatures().keys() & functions.keys())):
        signature = _signature(folder / "1", name)
        needed = signature.inputs.keys() - signature.defaults  # a target that is shown is no input of the first
        inputs = {key: some.get(key, some[served.inputs[0]]) for key in needed | some.keys() & signature.inputs.keys()}
        in_parts = asyncio.run(_in_parts(loaded, signature, inputs))
        for number in range(min(len(rows), 5)):
            alone = _called(loaded, name, {key: values[number : number + 1] for key, values in inputs.items()})
            assert set(in_parts) == set(alone)
            for output, values in alone.items():
                own = tuple(slice(width) for width in values.shape[1:])
                assert_alike(values, in_parts[output][(slice(number, number + 1), *own)])

    # Another answer is found out.
    rolled = {name: np.roll(values, 1, axis=0) for name, values in outputs.items()}
    assert served.compare(expected, _plain(rolled), tolerance=1e-9).wrong.any()

    if litert:
        check_litert(served, request, outputs, folder)

    # The warm-up asks every signature that anybody waits for, with inputs that it takes.
    requests = list(served.warm_up(rows))
    assert {name for name, _ in requests} == set(functions) - set(served.attention_signatures())
    for name, inputs in dict(requests).items():
        _called(loaded, name, inputs)

    # What is said of it speaks of inputs and outputs that it has, entry by entry.
    metadata = served.metadata()
    assert list(metadata["inputs"]) == list(served.inputs)
    for output, entries in metadata["entries"].items():
        assert output not in outputs or len(entries) == outputs[output].shape[1]
    assert served.headline_metrics
    return outputs


def check_litert(
    served: ServableModel, request: Mapping[str, Sequence[Any]], outputs: Mapping[str, np.ndarray], folder: Path
) -> None:
    """Check that an export answers the same if LiteRT computes its networks."""
    parts = split(served)
    path = folder / "network.tflite"
    path.write_bytes(convert({"network": parts.network}, weights=served.weights))
    model = LiteRtModel(path)
    names, _ = model.signatures["network"]
    assert not model.files and all(spec.dtype in (tf.int32, tf.float32) for spec in parts.network.input_signature)

    def network(features: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return model.run("network", {name: features[name] for name in names})

    columns = [tf.constant(request[spec.name], spec.dtype) for spec in parts.answer.before.input_signature]
    found = parts.answer.compute(network, *columns)
    assert set(found) == set(outputs)
    for name, values in outputs.items():
        assert found[name].dtype == values.dtype
        assert_alike(values, found[name])
    if parts.predictions is not None:
        assert all(len(values) == len(columns[0]) for values in parts.predictions.compute(network, *columns).values())


def assert_alike(expected: np.ndarray, received: np.ndarray) -> None:
    """Check that arrays are equal, numbers up to rounding."""
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(expected, received, rtol=1e-4, atol=1e-4)
    else:
        np.testing.assert_array_equal(expected, received)


@functools.lru_cache(maxsize=1)
def load(folder: Path) -> Any:
    """Load a SavedModel; that of the contract is there for further tests of it."""
    return tf.saved_model.load(str(folder))


@functools.lru_cache(maxsize=4)
def signatures_of(served: ServableModel) -> dict[str, Any]:
    """Return the signatures of a model; tests that ask the same model trace them once."""
    return served.signatures()


async def _in_parts(loaded: Any, signature: Signature, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the outputs of a batcher that computes at most two rows at a time."""

    async def compute(name, inputs, outputs, deadline):
        assert len(next(iter(inputs.values()))) <= 2
        await asyncio.sleep(0)
        return _called(loaded, name, inputs)

    observer = SimpleNamespace(batch=lambda **facts: None, queue=lambda **facts: None)
    parameters = BatchingParameters(max_batch_size=2)
    batcher = Batcher(compute, parameters=parameters, threads=2, observer=observer)
    arrays = {key: np.array(values, signature.inputs[key].numpy_dtype) for key, values in inputs.items()}
    return await batcher.run(signature, arrays, (), None)


def _signature(folder: Path, name: str) -> Signature:
    (meta_graph,) = parse_saved_model(str(folder)).meta_graphs
    return Signature.of(name, meta_graph.signature_def[name])


def _optional(function: Any) -> tuple[str, ...]:
    """Return the optional inputs."""
    arguments = function.function_spec.fullargspec
    return tuple(arguments.args[len(arguments.args) - len(arguments.defaults or ()) :])


def _called(loaded: Any, signature: str, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    sent = {name: values if isinstance(values, tf.Tensor) else tf.constant(values) for name, values in inputs.items()}
    return {name: value.numpy() for name, value in loaded.signatures[signature](**sent).items()}


def _plain(outputs: Mapping[str, np.ndarray]) -> dict[str, list[Any]]:
    """Convert rows to the input of the parity check."""
    return {name: decoded(values.tolist()) for name, values in outputs.items()}
