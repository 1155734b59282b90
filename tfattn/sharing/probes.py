"""Inputs on which a written model is compared with its export."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.features import IMAGES, MASKED_LM_POSITIONS, PADDING_MASK, SEGMENT_IDS, TARGET_IDS, TOKEN_IDS
from tfattn.preprocessing.encoder_tokens import EncoderTokens
from tfattn.sharing.trained_export import TrainedExport

# In addition to examples of the validation rows: several scripts, accents, digits, and white space.
TEXTS = (
    "The pump leaks 3 litres.",
    "Straße, naïve café: 3.14 x 10^5 €",
    "等到潮水退了，就知道誰沒穿褲子。",
    "  two  spaces,\ta tab\nand 1234567 lines ",
    "It's an EMOJI 🙂, isn't it?",
    "Привет, мир! مرحبا",
)
_NAMES = {TOKEN_IDS: "input_ids", PADDING_MASK: "attention_mask", SEGMENT_IDS: "token_type_ids"}  # of transformers
_SEQUENCES = (TOKEN_IDS, SEGMENT_IDS, TARGET_IDS)
MAX_EXAMPLES = 6
NUM_IMAGES = 2


@dataclass(frozen=True)
class Probe:
    """Some inputs.

    Attributes:
        texts: the text or the two texts of each of N sequences; empty for images.
        ids: the ids of each sequence.
        max_length: the maximum number of ids.
        features: the features of our model.
        task_features: the features of our task: those of the model, or choices (B, 2, T) for each row.
        inputs: the features of the task by the names of transformers.
    """

    texts: list[tuple[str, ...]]
    ids: list[list[int]]
    max_length: int | None
    features: dict[str, np.ndarray]
    task_features: dict[str, np.ndarray]
    inputs: dict[str, np.ndarray]


def probe(export: TrainedExport) -> Probe:
    """Make the probe of an export: texts, or random images."""
    if export.preprocessor.file_fields:
        return _images(export)
    rows = list(_rows(export))
    ids = [row[TOKEN_IDS] for _, row in rows]
    width = max(map(len, ids))
    padded = {name: _padded([row[name] for _, row in rows]) for name in rows[0][1]}
    features = {**padded, PADDING_MASK: np.arange(width) < np.array([[len(row)] for row in ids])}
    grouped = features
    if export.task == "multiple_choice":
        even = len(ids) // 2 * 2
        grouped = {name: value[:even].reshape(-1, 2, width) for name, value in features.items()}
    elif export.task in ("masked_lm", "bert_pretraining"):
        grouped = {**features, MASKED_LM_POSITIONS: np.tile(np.arange(width, dtype="int32"), (len(ids), 1))}
    return Probe(
        [texts for texts, _ in rows],
        [row.tolist() for row in ids],
        export.weights.max_length,
        features,
        grouped,
        _inputs(export, grouped),
    )


def _padded(rows: list[np.ndarray]) -> np.ndarray:
    width = max(map(len, rows))
    return np.array([np.pad(row, (0, width - len(row))) for row in rows], "int32")


def _inputs(export: TrainedExport, features: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return features by the names of transformers."""
    found = {_NAMES[name]: value.astype("int64") for name, value in features.items() if name in _NAMES}
    if export.arguments.get("num_segments") == 0:
        found.pop(_NAMES[SEGMENT_IDS], None)
    if TARGET_IDS in features:
        found["decoder_input_ids"] = features[TARGET_IDS][:, :-1].astype("int64")
    return found


def text_examples(card: dict[str, Any]) -> list[str]:
    """Return texts of the examples in the card of an export."""
    values = [value for example in card.get("examples", []) for value in example.values()]
    return [value for value in values if isinstance(value, str) and value.strip()][:MAX_EXAMPLES]


def _rows(export: TrainedExport) -> Iterator[tuple[tuple[str, ...], dict[str, np.ndarray]]]:
    """Yield the texts and the features of rows that are read whole or cut as transformers cuts them."""
    preprocessor = export.preprocessor
    texts = [*text_examples(export.card), *TEXTS]
    for index, text in enumerate(texts):
        names = (*preprocessor.fields, *preprocessor.target_fields)
        fields = {name: tf.constant([value]) for name, value in zip(names, (text, texts[index - 1]), strict=False)}
        row = (text, texts[index - 1])[: len(preprocessor.fields)]
        features = preprocessor(fields)
        in_windows = isinstance(preprocessor, EncoderTokens) and preprocessor.doc_stride is not None
        if in_windows and (features[TOKEN_IDS].nrows() > 1 or preprocessor.truncated(fields)[0]):
            continue
        named = {name: features[name][0].numpy() for name in _SEQUENCES if name in features}
        if len(named[TOKEN_IDS]):
            yield row, named


def _images(export: TrainedExport) -> Probe:
    height, width = export.preprocessor.height_and_width
    images = np.random.default_rng(0).uniform(size=(NUM_IMAGES, height, width, 3)).astype("float32")
    mean, deviation = (np.array(export.arguments[name], "float32") for name in ("pixel_mean", "pixel_deviation"))
    pixels = ((images - mean) / deviation).transpose(0, 3, 1, 2)
    features = {IMAGES: images}
    return Probe([], [], None, features, features, {"pixel_values": np.ascontiguousarray(pixels)})
