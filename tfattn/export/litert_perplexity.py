"""The gate of LiteRT files of language models: their perplexity may be at most 1 % higher than the model's."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from keras import ops

from tfattn.layers.projection import Projection
from tfattn.litert.decoder_file import READ, cache_names
from tfattn.litert.model import LiteRtModel
from tfattn.models.contracts.decoder import Decoder
from tfattn.preprocessing.language import Language

MAX_LOSS = 0.01  # of perplexity
MAX_TOKENS, MAX_TEXTS = 256, 64
HIDDEN = -1e30
# For published models, which have no validation rows.
TEXTS = (
    "The old lighthouse stood on a narrow strip of rock, half a mile from the shore. Every evening the keeper climbed "
    "the hundred and twelve steps to the lamp, cleaned the glass, and wrote the weather in a book that nobody read. "
    "When the storm of November broke the telegraph line, he was alone for nineteen days, and the only voice he heard "
    "was the wind in the iron stairs.",
    "Water boils at a lower temperature on a mountain than at sea level, because the air above it weighs less. At an "
    "altitude of 3,000 metres it boils at about 90 degrees Celsius, so potatoes take longer to cook. A pressure cooker "
    "does the opposite: it traps the steam, the pressure rises, and the temperature of the water rises with it.",
    "To return an item, send it to us within 30 days in its original box and enclose the invoice. We refund the price "
    "as soon as we have checked the goods, usually within a week. If the device stopped working during the first year, "
    "please describe the problem in a few words; our service will either repair it or replace it free of charge.",
    "def mean(values):\n    total = 0.0\n    for value in values:\n        total += value\n    return total / "
    "len(values)\n\n\ndef variance(values):\n    center = mean(values)\n    return mean([(value - center) ** 2 for "
    "value in values])\n",
    "The committee met on Tuesday to discuss the budget for the coming year. Two members argued that the library "
    "should stay open on Sundays, while the treasurer pointed out that heating alone had cost twice as much as planned."
    " In the end they agreed to ask the town for a small grant and to decide again in March.",
)


def texts_as_ids(language: Language, texts: Sequence[str]) -> list[np.ndarray]:
    """Return the first tokens of texts, at least two of each text."""
    rows = language.split(tf.constant(list(texts)[:MAX_TEXTS])).to_list()
    ends = [row[:MAX_TOKENS] for row in rows if len(row) > 1]
    return [np.array(row, np.int32) for row in ends]


class Measured(NamedTuple):
    """Measurements of a model in float32.

    Attributes:
        perplexity: of the texts.
        input_sizes: the path of a matrix to (K,), the root mean square of each component of its inputs.
    """

    perplexity: float
    input_sizes: dict[str, np.ndarray]


def measure(model: Decoder, texts: Sequence[np.ndarray]) -> Measured:
    """Compute the perplexity of a model and the sizes of the inputs of its products."""
    squares: dict[str, np.ndarray] = {}
    count = sum(map(len, texts))

    def add(path: str, x: Any) -> None:
        rows = np.asarray(ops.convert_to_numpy(x), np.float64)
        squares[path] = squares.get(path, 0.0) + np.square(rows).reshape(-1, rows.shape[-1]).sum(axis=0)

    logits = []
    layers = [layer for layer in model._flatten_layers() if isinstance(layer, Projection)]
    for layer in layers:
        layer.call = _recording(layer, add)
    try:
        for ids in texts:
            x, _ = model.read(ids[None], model.empty_cache(1))
            add(model.output_table.embeddings.path, x)
            logits.append(ops.convert_to_numpy(model.next_logits(x))[0])
    finally:
        for layer in layers:
            del layer.call
    return Measured(_perplexity(logits, texts), {path: np.sqrt(total / count) for path, total in squares.items()})


def _recording(layer: Projection, add: Callable[[str, Any], None]) -> Callable[..., Any]:
    compute = layer.call

    def call(x: Any, **options: Any) -> Any:
        add(layer.kernel.path, x)
        return compute(x, **options)

    return call


def file_perplexity(path: Path, texts: Sequence[np.ndarray]) -> float:
    """Compute the perplexity of a LiteRT file of a decoder."""
    model = LiteRtModel(path)
    return _perplexity([token_logits(model, ids) for ids in texts], texts)


def token_logits(model: LiteRtModel, ids: np.ndarray) -> np.ndarray:
    """Return the logits (T, V) after each of the T tokens of a text."""
    num_groups, head_dim = model.description["num_groups"], model.description["head_dim"]
    names = [name for pair in cache_names(model.description["num_layers"]) for name in pair]
    past = dict.fromkeys(names, np.zeros((1, num_groups, 1, head_dim), np.float32))
    positions = np.arange(len(ids), dtype=np.int32)
    inputs: dict[str, Any] = {"token_ids": ids[None], "positions": positions[None], "wanted": positions, **past}
    distances = positions[:, None] - positions
    kinds = {"": None} if model.description["window"] is None else {"": None, "window_": model.description["window"]}
    for kind, window in kinds.items():
        is_seen = (distances >= 0) & (True if window is None else distances < window)
        inputs[f"{kind}own_bias"] = np.where(is_seen, 0, HIDDEN).astype(np.float32)[None, None]
        inputs[f"{kind}past_bias"] = np.full((1, 1, len(ids) if kind else 1, 1), HIDDEN, np.float32)
    return model.run(READ, inputs)["logits"]


def _perplexity(logits: Sequence[np.ndarray], texts: Sequence[np.ndarray]) -> float:
    losses = []
    for values, ids in zip(logits, texts, strict=True):
        scores = values[:-1].astype(np.float64)
        largest = scores.max(axis=1)
        total = largest + np.log(np.exp(scores - largest[:, None]).sum(axis=1))
        losses.append(total - scores[np.arange(len(ids) - 1), ids[1:]])
    return math.exp(np.concatenate(losses).mean())
