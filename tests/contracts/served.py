"""What every export keeps, whatever it answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export import saved_model
from tfattn.export.served import Served
from tfattn.serving.client.row_outputs import decoded
from tfattn.trained.ensemble import TrainedEnsemble

SERVING_DEFAULT = "serving_default"


def check_served(
    served_class: type[Served],
    ensemble: TrainedEnsemble,
    rows: Sequence[Mapping[str, str]],
    *,
    folder: Path,
    expected: Mapping[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """Holds what is exported against the contract of all exports.

    Args:
        served_class: the class, called with the ensemble alone.
        ensemble: trained models.
        rows: at least two raw rows of unequal lengths.
        folder: an empty folder to write a SavedModel to.
        expected: what the models predict for these rows; by default what the ensemble does.

    Returns:
        the outputs of serving_default for these rows, as the SavedModel gives them.
    """
    served = served_class(ensemble)
    functions, request = served.signatures(), served.request(rows)
    optional = _optional(functions[SERVING_DEFAULT])
    assert set(served.inputs) <= set(request) <= {*served.inputs, *optional}
    assert all(len(values) == len(rows) for values in request.values())

    # It is saved and loaded without any of our code, and answers as the trained models do.
    saved_model._save(served, folder / "1")
    assert all(path.is_file() for path in (folder / "1/assets").iterdir())
    loaded = tf.saved_model.load(str(folder / "1"))
    assert set(loaded.signatures) == set(functions) >= {SERVING_DEFAULT, *served.methods}
    outputs = _called(loaded, SERVING_DEFAULT, request)
    expected = {**request, **(ensemble.predict(rows) if expected is None else expected)}
    comparison = served.compared(expected, _plain(outputs), tolerance=1e-5)
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
            if values.dtype.kind == "f":
                np.testing.assert_allclose(value, together, rtol=1e-4, atol=1e-4)
            else:
                np.testing.assert_array_equal(value, together)

    # Another answer is found out.
    rolled = {name: np.roll(values, 1, axis=0) for name, values in outputs.items()}
    assert served.compared(expected, _plain(rolled), tolerance=1e-9).wrong.any()

    # The warm-up asks every signature that anybody waits for, with inputs that it takes.
    requests = list(served.warm_up(rows))
    assert {name for name, _ in requests} == set(functions) - set(served.views())
    for name, inputs in dict(requests).items():
        _called(loaded, name, inputs)

    # What is said of it speaks of inputs and outputs that it has, entry by entry.
    about = served.about()
    assert list(about["inputs"]) == list(served.inputs)
    for output, entries in about["entries"].items():
        assert output not in outputs or len(entries) == outputs[output].shape[1]
    assert served.shown_metrics
    return outputs


def _optional(function: Any) -> tuple[str, ...]:
    """The inputs that need not be given."""
    arguments = function.function_spec.fullargspec
    return tuple(arguments.args[len(arguments.args) - len(arguments.defaults or ()) :])


def _called(loaded: Any, signature: str, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    sent = {name: values if isinstance(values, tf.Tensor) else tf.constant(values) for name, values in inputs.items()}
    return {name: value.numpy() for name, value in loaded.signatures[signature](**sent).items()}


def _plain(outputs: Mapping[str, np.ndarray]) -> dict[str, list[Any]]:
    """As the parity check receives them."""
    return {name: decoded(values.tolist()) for name, values in outputs.items()}
