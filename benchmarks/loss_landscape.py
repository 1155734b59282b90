"""The loss around the path of training: its range along the gradient, and how predictive and smooth gradients are.

Source: Santurkar et al. 2018, "How does batch normalization help optimization?", sections 2.2 and 3.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf

STEP_SIZES = np.geomspace(0.5, 4.0, 7)  # along the gradient, in learning rates of the run
EVERY = 10  # steps between two measurements
EPSILON = 1e-12


@dataclass
class Path:
    """The measurements on the path of a training run, one entry per measured step.

    Attributes:
        steps: the measured steps.
        losses: the loss of each step of training, measured or not.
        lowest, highest: the lowest and the highest loss along the gradient.
        nearest, farthest: the smallest and the largest change of the gradient, as an L2 norm.
        smoothness: the largest change of the gradient by the distance: the effective beta-smoothness.
        shifts: (layers,), the mean absolute change of the means of a layer's inputs since the measurement before, in
            their standard deviations.
        turns: (layers,), the cosine between the gradient of a layer before and after the update of the layers below.
        drifts: (layers,), the distance of these gradients by the norm of the first.
    """

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    lowest: list[float] = field(default_factory=list)
    highest: list[float] = field(default_factory=list)
    nearest: list[float] = field(default_factory=list)
    farthest: list[float] = field(default_factory=list)
    smoothness: list[float] = field(default_factory=list)
    shifts: list[np.ndarray] = field(default_factory=list)
    turns: list[np.ndarray] = field(default_factory=list)
    drifts: list[np.ndarray] = field(default_factory=list)


class Descent:
    """Gradient descent without momentum, whose losses and gradients can be measured at any weights.

    Args:
        network: a built model; `network(inputs, training=True, step=step)` returns logits and the inputs of its layers,
            (B, D) each. `network.weights_by_layer` has the trained weights of each layer, from the input upwards.
        inputs: (N, ...) float32.
        labels: (N,) int.
        batch_size: the number of rows of a step, drawn with `seed`.
        seed: the seed of the batches.
    """

    def __init__(self, network: keras.Model, inputs: np.ndarray, labels: np.ndarray, *, batch_size: int, seed: int):
        self.network = network
        self.inputs, self.labels = tf.constant(inputs), tf.constant(labels)
        self.batch_size = batch_size
        self.seed = seed
        self.start = [
            [tf.identity(v.value) for v in group]
            for group in (network.trainable_variables, network.non_trainable_variables)
        ]
        order = {id(variable): index for index, variable in enumerate(network.trainable_variables)}
        self.layers = [[order[id(v)] for v in group] for group in network.weights_by_layer]
        self._evaluate = tf.function(self._loss_and_gradients)
        self._inputs_of_layers = tf.function(self._moments)

    def run(self, learning_rate: float, steps: int, *, measures: bool = False) -> Path:
        """Train from the initial weights; the network keeps the last weights and running averages."""
        weights, states = self.start
        path, before = Path(), None
        random = np.random.default_rng(self.seed)
        for step in range(steps):
            rows = tf.constant(random.choice(len(self.labels), self.batch_size, replace=False))
            batch = tf.gather(self.inputs, rows), tf.gather(self.labels, rows), tf.constant(step)
            loss, gradients, new_states = self._evaluate(weights, states, *batch)
            path.losses.append(float(loss))
            if measures and step % EVERY == 0:
                path.steps.append(step)
                self._measure_line(path, weights, states, batch, gradients, learning_rate)
                self._measure_layers(path, weights, states, batch, gradients, learning_rate)
                moments = self._inputs_of_layers(weights, states, tf.constant(step))
                if before is not None:
                    path.shifts.append(_shifts(before, moments))
                before = moments
            weights, states = _moved(weights, gradients, learning_rate), new_states
        for variable, value in zip(self.network.trainable_variables, weights, strict=True):
            variable.assign(value)
        for variable, value in zip(self.network.non_trainable_variables, states, strict=True):
            variable.assign(value)
        return path

    def _loss_and_gradients(self, weights, states, inputs, labels, step):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            (logits, _), states = self.network.stateless_call(weights, states, inputs, training=True, step=step)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        return loss, tape.gradient(loss, weights), states

    def _moments(self, weights, states, step):
        """Return means and deviations of the inputs of each layer, over all rows."""
        (_, inputs), _ = self.network.stateless_call(weights, states, self.inputs, training=True, step=step)
        return [(tf.reduce_mean(x, 0), tf.math.reduce_std(x, 0)) for x in inputs]

    def _measure_line(self, path, weights, states, batch, gradients, learning_rate):
        norm = float(tf.linalg.global_norm(gradients))
        losses, changes, ratios = [], [], []
        for size in learning_rate * STEP_SIZES:
            loss, others, _ = self._evaluate(_moved(weights, gradients, size), states, *batch)
            losses.append(float(loss))
            changes.append(float(tf.linalg.global_norm([a - b for a, b in zip(others, gradients, strict=True)])))
            ratios.append(changes[-1] / (size * norm + EPSILON))
        path.lowest.append(min(losses))
        path.highest.append(max(losses))
        path.nearest.append(min(changes))
        path.farthest.append(max(changes))
        path.smoothness.append(max(ratios))

    def _measure_layers(self, path, weights, states, batch, gradients, learning_rate):
        """Measure internal covariate shift as the change of a layer's gradient by the update of the layers below."""
        moved, turns, drifts = list(weights), [], []
        after = _moved(weights, gradients, learning_rate)
        for below, layer in zip(self.layers, self.layers[1:], strict=False):
            for index in below:
                moved[index] = after[index]
            _, others, _ = self._evaluate(moved, states, *batch)
            old, new = (np.concatenate([np.ravel(values[index]) for index in layer]) for values in (gradients, others))
            length = np.linalg.norm(old) + EPSILON
            turns.append(old @ new / (length * np.linalg.norm(new) + EPSILON))
            drifts.append(np.linalg.norm(new - old) / length)
        path.turns.append(np.array(turns))
        path.drifts.append(np.array(drifts))


def _moved(weights: Sequence[Any], gradients: Sequence[Any], size: float) -> list[Any]:
    return [weight - size * gradient for weight, gradient in zip(weights, gradients, strict=True)]


def _shifts(before: Sequence[Any], after: Sequence[Any]) -> np.ndarray:
    return np.array(
        [float(tf.reduce_mean(abs(m - k) / (s + 1e-3))) for (k, s), (m, _) in zip(before, after, strict=True)]
    )
