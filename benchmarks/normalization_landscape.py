"""Why batch normalization helps: the loss landscape of small networks with and without it, on scikit-learn's digits.

Deep networks of dense layers with sigmoid and tanh, and a Vision Transformer, are trained by gradient descent without
momentum. The noisy networks add noise after the normalization: every unit has another mean and scale in each step, so
that the inputs of the next layer shift more than without normalization.

Source: Santurkar et al. 2018, "How does batch normalization help optimization?", figures 1 to 4.
"""

import argparse
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import ops
from sklearn.datasets import load_digits

from benchmarks import results
from benchmarks.loss_landscape import Descent
from benchmarks.loss_landscape import Path as Measured
from benchmarks.results import Table
from tfattn.drawing.figures import new_figure, styled, svg
from tfattn.layers.normalization import normalization_layer
from tfattn.models.vit import Vit

LAYERS, WIDTH, CLASSES = 10, 64, 10
STEPS, BATCH, SEEDS = 400, 128, (0, 1, 2)
RATES = (0.03, 0.1, 0.3, 1.0)
MEASURED_RATE = 0.1  # of all networks whose landscapes are compared
TEST_ROWS = 500
ACTIVATIONS = ("sigmoid", "tanh")
VIT, NOISY = "ViT", "batch norm and noise"
KINDS = {"none": "none", "layer norm": "layer_norm", "batch norm": "batch_norm", NOISY: "batch_norm"}
NOISE = {"mean": 0.5, "scale": 0.25, "spread": 0.1}


class DeepNetwork(keras.Model):
    """Dense layers, each with a normalization and an activation, and a linear layer on top.

    Args:
        kind: a key of KINDS.
        activation: the activation of the layers.
        seed: the seed of the noise.
    """

    def __init__(self, kind: str, activation: str, *, seed: int = 0):
        super().__init__()
        self.noisy, self.seed = kind == NOISY, seed
        self.activate = keras.activations.get(activation)
        self.dense = [keras.layers.Dense(WIDTH) for _ in range(LAYERS)]
        self.norms = [normalization_layer(KINDS[kind], epsilon=1e-5) for _ in range(LAYERS)]
        self.head = keras.layers.Dense(CLASSES)

    def build(self, shape):
        for index, (dense, norm) in enumerate(zip(self.dense, self.norms, strict=True)):
            dense.build((None, WIDTH) if index else shape)
            norm.build((None, WIDTH))
        self.head.build((None, WIDTH))
        self.weights_by_layer = [
            dense.trainable_variables + norm.trainable_variables
            for dense, norm in zip(self.dense, self.norms, strict=True)
        ]

    def call(self, x, training=False, step=0):
        inputs = []
        for index, (dense, norm) in enumerate(zip(self.dense, self.norms, strict=True)):
            x = norm(dense(x), training=training)
            x = self._with_noise(x, step, index) if self.noisy and training else x
            x = self.activate(x)
            inputs.append(x)
        return self.head(x), inputs

    def _with_noise(self, x, step, layer):
        """Shift and scale each unit by amounts of this step, which also differ a little between rows."""

        def uniform(shape, part, low, high):
            seed = tf.stack([self.seed * 100 + part, step * LAYERS + layer])
            return tf.random.stateless_uniform(shape, seed, low, high)

        mean = uniform((WIDTH,), 0, -NOISE["mean"], NOISE["mean"])
        scale = uniform((WIDTH,), 1, 1.0, 1.0 + NOISE["scale"])
        shifts, scales = (uniform(tf.shape(x), part, -NOISE["spread"], NOISE["spread"]) for part in (2, 3))
        return x * (scale + scales) + mean + shifts


class ImageNetwork(keras.Model):
    """A Vision Transformer of 4 blocks over 16 patches of a digit, with a linear layer on top."""

    def __init__(self, kind: str):
        super().__init__()
        sizes = {"image_size": 8, "patch_size": 2, "hidden_dim": 32, "num_layers": 4, "num_heads": 4}
        self.vit = Vit(**sizes, intermediate_dim=64, pooling="mean", normalization=KINDS[kind], layer_norm_epsilon=1e-5)
        self.head = keras.layers.Dense(CLASSES)

    def build(self, shape):
        self.head.build((None, 32))
        self.weights_by_layer = [block.trainable_variables for block in self.vit.blocks]

    def call(self, x, training=False, step=0):
        images = ops.repeat(ops.reshape((x + 1) / 2, (-1, 8, 8, 1)), 3, axis=-1)
        outputs = self.vit({"images": images}, training=training)
        means = [ops.mean(x, axis=1) for x in outputs["hidden_states"][1:]]
        return self.head(outputs["pooled_output"]), means


def main(figures: Path | None = None) -> list[Table]:
    """Train all networks, measure their landscapes, and draw figures into a folder if it is given."""
    data = digits()
    tables = [depth_table(data)]
    networks = [(name, kind) for name in (*ACTIVATIONS, VIT) for kind in KINDS if name != VIT or kind != NOISY]
    paths = {(name, kind): measure(data, name, kind) for name, kind in networks}
    tables += [landscape_table(paths), shift_table(paths)]
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        for name in (*ACTIVATIONS, VIT):
            chosen = {kind: path for (network, kind), path in paths.items() if network == name}
            (figures / f"normalization_{name.lower()}.svg").write_text(svg(draw(name, chosen)), encoding="utf-8")
    return tables


def digits() -> dict[str, np.ndarray]:
    """Return 1,297 training and 500 test rows of 64 pixels from -1 to 1, in a fixed random order."""
    known = load_digits()
    order = np.random.default_rng(0).permutation(len(known.target))
    rows, labels = (known.data[order] / 8 - 1).astype("float32"), known.target[order].astype("int32")
    return {
        "rows": rows[TEST_ROWS:],
        "labels": labels[TEST_ROWS:],
        "test_rows": rows[:TEST_ROWS],
        "test_labels": labels[:TEST_ROWS],
    }


def descent(data: dict[str, np.ndarray], name: str, kind: str, *, seed: int = 0) -> Descent:
    """Build a network with a seed, and the descent that trains it."""
    keras.utils.set_random_seed(seed)
    network = ImageNetwork(kind) if name == VIT else DeepNetwork(kind, name, seed=seed)
    network.build((None, data["rows"].shape[1]))
    return Descent(network, data["rows"], data["labels"], batch_size=BATCH, seed=seed)


def measure(data: dict[str, np.ndarray], name: str, kind: str) -> Measured:
    """Train a network at `MEASURED_RATE`, and measure its landscape on the way."""
    return descent(data, name, kind).run(MEASURED_RATE, STEPS, measures=True)


def depth_table(data: dict[str, np.ndarray]) -> Table:
    """Train the deep networks, each at the learning rate with the lowest training loss of the first seed."""
    rows = []
    for activation in ACTIVATIONS:
        for kind in KINDS:
            first = descent(data, activation, kind)
            rate = min(RATES, key=lambda rate: last_loss(first.run(rate, STEPS)))
            losses, scores = [], []
            for seed in SEEDS:
                training = descent(data, activation, kind, seed=seed)
                losses.append(last_loss(training.run(rate, STEPS)))
                logits, _ = training.network(data["test_rows"])
                scores.append(np.mean(np.argmax(logits, -1) == data["test_labels"]))
            cells = [f"{rate:g}", f"{np.mean(losses):.3f}", f"{np.mean(scores):.3f}"]
            rows.append([f"{activation}, {kind}", *cells, f"{min(scores):.3f} to {max(scores):.3f}"])
    return Table(
        title=f"{LAYERS} layers of width {WIDTH}, {STEPS} steps of {BATCH} digits, seeds: {len(SEEDS)}",
        columns=["", "learning rate", "loss of the last 20 steps", "test accuracy", "minimum and maximum"],
        rows=rows,
        notes=[f"The learning rate is the one of {', '.join(map(str, RATES))} with the lowest training loss."],
    )


def last_loss(path: Measured) -> float:
    """Return the mean training loss of the last 20 steps; infinite if the run diverged."""
    loss = float(np.mean(path.losses[-20:]))
    return loss if np.isfinite(loss) else float("inf")


def landscape_table(paths: dict[tuple[str, str], Measured]) -> Table:
    """Summarize the landscapes by medians over the measured steps."""
    rows = []
    for (name, kind), path in paths.items():
        values = [
            np.subtract(path.highest, path.lowest),
            np.subtract(path.farthest, path.nearest),
            np.array(path.farthest),
            np.array(path.smoothness),
        ]
        cells = [f"{np.median(value):.3g}" for value in values]
        rows.append([f"{name}, {kind}", f"{last_loss(path):.3f}", *cells, f"{max(path.smoothness):.3g}"])
    return Table(
        title=f"Loss and gradient along the gradient at learning rate {MEASURED_RATE}, medians over {STEPS} steps",
        columns=[
            "",
            "training loss",
            "range of the loss",
            "range of the gradient",
            "largest change of the gradient",
            "effective smoothness",
            "its maximum",
        ],
        rows=rows,
        notes=[
            "Lower is smoother. Steps along the gradient have 0.5 to 4 times the length of a step of training.",
            "The training loss is that of the last 20 steps. A network that does not learn has small gradients too.",
        ],
    )


def shift_table(paths: dict[tuple[str, str], Measured]) -> Table:
    """Summarize the shift of the inputs of layers, and internal covariate shift, by means over the measured steps."""
    rows = []
    for (name, kind), path in paths.items():
        shifts, turns, drifts = (np.mean(values, 0) for values in (path.shifts, path.turns, path.drifts))
        middle = len(shifts) // 2
        cells = [*(f"{shifts[index]:.3f}" for index in (0, middle, -1)), f"{turns.mean():.3f}", f"{drifts.mean():.3f}"]
        rows.append([f"{name}, {kind}", *cells])
    return Table(
        title="Shift of the inputs of the first, the middle and the last layer between two measurements, in standard "
        "deviations; change of the gradient of a layer by the update of the layers below",
        columns=["", "first", "middle", "last", "cosine", "distance by norm"],
        rows=rows,
        notes=["A cosine of 1 and a distance of 0 mean no internal covariate shift."],
    )


@styled
def draw(name: str, paths: dict[str, Measured]):
    """Draw the landscapes of a network's kinds: the loss, its range, the change of the gradient, and the shift."""
    figure = new_figure(9.5, 6.5)
    axes = figure.subplots(2, 2)
    for colour, (kind, path) in enumerate(paths.items()):
        style = {"color": f"C{colour}", "label": kind}
        axes[0, 0].plot(smoothed(path.losses), **style)
        axes[0, 1].fill_between(path.steps, path.lowest, path.highest, alpha=0.35, linewidth=0, **style)
        axes[1, 0].plot(path.steps, path.smoothness, **style)
        shifts = np.mean(path.shifts, 0)
        axes[1, 1].plot(np.arange(1, len(shifts) + 1), shifts, marker="o", **style)
    titles = ("training loss", "loss along the gradient", "effective smoothness", "shift of a layer's inputs")
    labels = ("step", "step", "step", "layer")
    for panel, title, label in zip(axes.flat, titles, labels, strict=True):
        panel.set_title(title)
        panel.set_xlabel(label)
    axes[1, 0].set_yscale("log")
    axes[1, 1].set_yscale("log")
    axes[0, 0].legend()
    figure.suptitle(f"{name}: gradient descent on digits, learning rate {MEASURED_RATE}")
    return figure


def smoothed(values: list[float], width: int = 10) -> np.ndarray:
    """Average neighbouring steps."""
    return np.convolve(values, np.ones(width) / width, mode="valid")


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.normalization_landscape", description=__doc__)
    parser.add_argument("--figures", type=Path, help="a folder for the figures")
    results.add_option(parser)
    return parser


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish(main(options.figures), command=results.own_command(), record=options.record)
