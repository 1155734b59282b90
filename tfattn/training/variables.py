"""Groups of a task's variables, for the training step and for checkpoints, and the assignment of tensors to them."""

from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from tfattn.errors import CheckpointError, listed
from tfattn.layers.normalization import BatchNormalization
from tfattn.tasks.task import TRAINING_ONLY, Task

MAX_LISTED = 5  # tensors listed in an error

Group = Mapping[str, tf.Variable]


def running_averages(task: Task) -> list[keras.Variable]:
    """Return the running averages of batch normalizations that are trained."""
    layers = task._flatten_layers(include_self=False, recursive=True)
    trained = [layer for layer in layers if isinstance(layer, BatchNormalization) and layer.gamma.trainable]
    return [variable for layer in trained for variable in (layer.moving_mean, layer.moving_variance)]


def fixed_weights(task: Task) -> list[keras.Variable]:
    """Return the weights that no step changes."""
    running = {id(variable) for variable in running_averages(task)}
    return [variable for variable in task.non_trainable_weights if id(variable) not in running]


def trained(task: Task) -> Group:
    """Return a task's trained weights by path."""
    return _by_path(task.trainable_weights)


def changing(task: Task) -> Group:
    """Return the weights that a step changes by path: trained weights, and running averages of batch normalization."""
    return _by_path([*task.trainable_weights, *running_averages(task)])


def frozen(task: Task) -> Group:
    """Return the weights that no step changes, by path."""
    return _by_path(fixed_weights(task))


def values(variables: Group) -> dict[str, np.ndarray]:
    """Read the values of variables by path."""
    return {name: tf.convert_to_tensor(variable).numpy() for name, variable in variables.items()}


def assign(variables: Group, tensors: Mapping[str, np.ndarray], *, where: str) -> None:
    """Assign tensors to the variables of the same names: all, or none after an error.

    Args:
        variables: variables by name.
        tensors: tensors by name.
        where: the checkpoint, for messages.

    Raises:
        CheckpointError: names or shapes differ; lists the tensors.
    """
    missing = [name for name in variables if name not in tensors]
    unknown = [name for name in tensors if name not in variables and not name.startswith(TRAINING_ONLY)]
    different = [
        f"{name} {tuple(tensors[name].shape)} for {tuple(variable.shape)}"
        for name, variable in variables.items()
        if name in tensors and tuple(variable.shape) != tuple(tensors[name].shape)
    ]
    faults = {"missing": missing, "not in the model": unknown, "of another shape": different}
    received = "; ".join(f"{kind}: {listed(names, MAX_LISTED)}" for kind, names in faults.items() if names)
    if received:
        raise CheckpointError(
            "the checkpoint does not fit the model",
            where=where,
            expected=f"{len(variables)} tensors of the model's shapes",
            received=received,
            remedy="Use the configuration of the checkpoint, or delete the checkpoint to retrain.",
        )
    for name, variable in variables.items():
        variable.assign(tensors[name])


def _by_path(variables: list[keras.Variable]) -> Group:
    group = {variable.path: variable.value for variable in variables}
    if len(group) != len(variables):
        paths = [variable.path for variable in variables]
        twice = sorted({path for path in paths if paths.count(path) > 1})
        raise CheckpointError(
            "two weights have the same path", where=listed(twice, MAX_LISTED), remedy="Give their layers names."
        )
    return group
