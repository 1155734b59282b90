"""The contract check of tasks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfattn.tasks.task import Task


def check_task(
    make: Callable[[], Task], batch: dict[str, np.ndarray], *, folder: Path, texts: dict[str, np.ndarray] | None = None
) -> None:
    """Check the contract of tasks.

    Args:
        make: returns a new task with other weights, without dropout.
        batch: an even number of rows of a reader: features, targets and `weights` of 1.
        folder: an empty folder for weights.
        texts: the expected texts of each row, by field, for tasks that generate text.
    """
    task, rows = make(), len(batch["weights"])
    outputs = _outputs(task, batch)

    # Terms of the loss go with their weights, by name, shape and type; they are numbers, and some count.
    weights, terms = _arrays(task.loss_weights(batch)), _arrays(task.loss_terms(outputs, batch))
    assert set(weights) == set(terms) == set(task.loss_names)
    for name in task.loss_names:
        assert weights[name].shape == terms[name].shape and len(terms[name]) == rows
        assert weights[name].dtype == terms[name].dtype == "float32"
        assert np.isfinite(terms[name]).all() and np.sum(weights[name]) > 0

    # A prediction for each row, which does not depend on the other rows.
    predictions = _arrays(task.predictions(outputs))
    assert predictions and all(len(values) == rows for values in predictions.values())
    halves = [{name: values[place] for name, values in batch.items()} for place in _halves(rows)]
    of_halves = [_outputs(task, half) for half in halves]
    for place, half in zip(_halves(rows), of_halves, strict=True):
        alone = _arrays(task.predictions(half))
        for name, values in predictions.items():
            np.testing.assert_allclose(alone[name], values[place], rtol=1e-4, atol=1e-4)

    # Sums over halves of a batch are those over the batch; rows that only fill it count in nothing.
    statistics = _arrays(task.statistics(outputs, batch))
    parts = [_arrays(task.statistics(*pair)) for pair in zip(of_halves, halves, strict=True)]
    filled = {name: np.concatenate([values, values[:1]]) for name, values in batch.items()}
    filled["weights"] = np.append(batch["weights"], 0).astype("float32")
    more = _outputs(task, filled)
    for name, value in statistics.items():
        np.testing.assert_allclose(parts[0][name] + parts[1][name], value, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(_arrays(task.statistics(more, filled))[name], value, rtol=1e-4, atol=1e-4)
    for name in task.loss_names:
        np.testing.assert_allclose(np.sum(_arrays(task.loss_weights(filled))[name]), np.sum(weights[name]), rtol=1e-6)

    # The metrics are those that it names, and one of them tells which weights are the best.
    found = task.metrics_from(statistics, _arrays(task.per_example(outputs, batch)) | (texts or {}))
    assert set(found) == set(task.metric_names) and all(isinstance(value, float) for value in found.values())
    assert task.monitor in (*task.metric_names, "loss") and task.monitor_mode in ("min", "max")

    # Several predict in the form of one; one alone as it does.
    if task.supports_ensemble:
        for several in ([predictions], [predictions] * 2):
            together = _arrays(task.combine(several))
            assert set(together) == set(predictions)
            for name, values in predictions.items():
                assert together[name].dtype == values.dtype
                np.testing.assert_allclose(together[name], values, rtol=1e-6)

    # Every weight that is trained stands once in the groups from the input upwards.
    grouped = [variable.path for group in task.depth_groups() for variable in group]
    assert sorted(grouped) == sorted(variable.path for variable in task.trainable_variables)

    # Weights that were saved and loaded into another one give the same predictions.
    np.savez(folder / "weights.npz", **{weight.path: keras.ops.convert_to_numpy(weight) for weight in task.weights})
    saved, twin = np.load(folder / "weights.npz"), make()
    for weight in twin.weights:
        weight.assign(saved[weight.path])
    for name, values in _arrays(twin.predictions(_outputs(twin, batch))).items():
        np.testing.assert_allclose(values, predictions[name], rtol=1e-5, atol=1e-6)


def check_any_length(task: Task, batch: dict[str, np.ndarray]) -> None:
    """Check a task of tokens in a graph with unknown rows and lengths, as in training and exports."""
    import tensorflow as tf

    specification = {name: tf.TensorSpec([None] * values.ndim, values.dtype) for name, values in batch.items()}

    @tf.function(input_signature=[specification], autograph=False)
    def graph(batch: dict[str, Any]) -> dict[str, Any]:
        outputs = task(batch)
        found = task.loss_terms(outputs, batch) | task.predictions(outputs)
        rows = tf.range(tf.shape(batch["weights"])[0]) // 2
        gathered = task.merge_examples(task.predictions(outputs), rows, tf.reduce_max(rows) + 1)
        return found | {f"gathered {name}": value for name, value in gathered.items()}

    outputs = _outputs(task, batch)
    expected = _arrays(task.loss_terms(outputs, batch) | task.predictions(outputs))
    found = _arrays(graph({name: tf.constant(values) for name, values in batch.items()}))
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-4)
    for name in task.predictions(outputs):
        assert len(found[f"gathered {name}"]) == (len(batch["weights"]) + 1) // 2


def _outputs(task: Task, batch: dict[str, np.ndarray]) -> dict[str, Any]:
    return task(batch, training=False)


def _arrays(values: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: keras.ops.convert_to_numpy(value) for name, value in values.items()}


def _halves(rows: int) -> tuple[slice, slice]:
    return slice(0, rows // 2), slice(rows // 2, rows)
