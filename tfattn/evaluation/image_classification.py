"""The evaluation of a classifier of images, with galleries of errors and of attention."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.label_report import PredictedRows, label_report
from tfattn.evaluation.report import Gallery, Section, Text
from tfattn.evaluation.row_predictions import MAX_ERRORS_SHOWN, ROW
from tfattn.evaluation.wording import count, percent, shown_count
from tfattn.features import ID, IMAGE, IMAGES, LABEL_IDS
from tfattn.models.contracts.attends import Attends
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.ops.attention_record import ENCODER, AttentionRecord
from tfattn.ops.rollout import rollout
from tfattn.preprocessing.images import Images
from tfattn.tasks.classification import TOP
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

SHOWN_PAIRS = 6
SHOWN_OF_PAIR = 8
SHOWN_EPOCHS = 2
SHOWN_OF_EPOCH = 16
MAX_SIDE = 96  # pixels, of an image in the report
ATTENTION_TEXT = (
    "The same images, darkened where the model (of several, the first) has little attention: attention rollout over "
    "all "
    "layers. It shows the input of the prediction, not its reason."
)


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate a classifier of images.

    Args:
        ensemble: the trained models, with their labels.
        predictions: `label_ids` (N,) and `scores` (N, C).

    Returns:
        a report whose metrics are those of label_report, and `top_5_accuracy` for more than five labels.
    """
    predicted = PredictedRows.of(ensemble, predictions, unit="image")
    mistakes = [_worst(predicted, ensemble), *_pairs(predicted, ensemble.preprocessor)]
    sections = [*mistakes, _training(predictions, ensemble.labels)]
    return label_report(ensemble, predicted, predictions, mistakes=sections, more=_top(predicted))


def _top(predicted: PredictedRows) -> dict[str, float]:
    if len(predicted.labels) <= TOP:
        return {}
    best = np.argsort(-predicted.scores, axis=1, kind="stable")[:, :TOP]
    return {f"top_{TOP}_accuracy": float((best == predicted.true[:, None]).any(axis=1).mean())}


def _worst(predicted: PredictedRows, ensemble: TrainedEnsemble) -> Section:
    worst = predicted.wrong[:MAX_ERRORS_SHOWN]
    if not len(worst):
        return Section("Most confident errors", [Text("There are no errors.")])
    words = Text(
        f"{shown_count(len(worst), len(predicted.wrong))}, the most confident first, as preprocessed for the "
        "model. The label in the file may be wrong."
    )
    images, model = _pixels(predicted, worst, ensemble.preprocessor), ensemble.task.model
    parts = [words, _gallery(predicted, worst, images)]
    if isinstance(model, Attends):
        parts += [Text(ATTENTION_TEXT), _gallery(predicted, worst, attention_overlay(model, images))]
    return Section("Most confident errors", parts)


def _pairs(predicted: PredictedRows, preprocessor: Images) -> list[Section]:
    parts: list[Text | Gallery] = []
    for true, other, times in predicted.ranked_mistakes[:SHOWN_PAIRS]:
        is_confused = (predicted.true == true) & (predicted.predicted_ids == other)
        shown = [number for number in predicted.wrong if is_confused[number]][:SHOWN_OF_PAIR]
        parts.append(
            Text(f"{predicted.labels[true]}, predicted as {predicted.labels[other]}: {count(times, 'image')}.")
        )
        parts.append(_gallery(predicted, shown, _pixels(predicted, shown, preprocessor)))
    return [Section("Most frequent confusions", parts)] if parts else []


def _training(predictions: SplitPredictions, labels: Sequence[str]) -> Section:
    """Return a gallery of the first training images of some epochs, with augmentation."""
    reader = predictions.reader("train")
    parts: list[Text | Gallery] = [Text("Training images after preprocessing and augmentation.")]
    for epoch in range(SHOWN_EPOCHS):
        batch = next(iter(reader.dataset(epoch)))
        images = batch[IMAGES].numpy()[:SHOWN_OF_EPOCH]
        names = [labels[number] for number in batch[LABEL_IDS].numpy()]
        parts.append(Text(f"Epoch {epoch + 1}:"))
        parts.append(Gallery(list(zip(_pngs(images), names, strict=False))))
    return Section("Training images", parts)


def _gallery(predicted: PredictedRows, numbers: Sequence[int], images: np.ndarray) -> Gallery:
    words = [
        f"{predicted.labels[predicted.true[number]]} → {predicted.labels[predicted.predicted_ids[number]]}, "
        f"{percent(predicted.confidence[number])} ({_name(predicted.rows[number])})"
        for number in numbers
    ]
    return Gallery(list(zip(_pngs(images), words, strict=True)))


def _name(row: dict[str, Any]) -> str:
    """Return the identifier of a row, or else its file or line."""
    return row.get(ID) or Path(row[ROW]).name


def _pixels(predicted: PredictedRows, numbers: Sequence[int], preprocessor: Images) -> np.ndarray:
    return preprocessor({IMAGE: tf.constant([predicted.rows[number][IMAGE] for number in numbers])})[IMAGES].numpy()


def _pngs(images: np.ndarray) -> Iterable[bytes]:
    """Encode images (N, Y, X, 3) from 0 to 1 as PNG, large images downscaled."""
    for image in images:
        scale = min(1.0, MAX_SIDE / max(image.shape[:2]))
        size = [max(1, round(side * scale)) for side in image.shape[:2]]
        small = image if scale == 1.0 else tf.image.resize(image, size, antialias=True)
        yield tf.io.encode_png(tf.cast(tf.clip_by_value(tf.round(small * 255.0), 0.0, 255.0), tf.uint8)).numpy()


MIN_BRIGHTNESS = 0.15  # of patches without attention, as a fraction of their brightness


def attention_overlay(model: ImageEncoder, images: np.ndarray) -> np.ndarray:
    """Darken the patches of images with less attention.

    The brightness of a patch is its attention rollout over all layers, weighted by the pooling weights of the tokens.

    Args:
        model: an image encoder with attention.
        images: (N, Y, X, 3) float32, from 0 to 1.

    Returns:
        (N, Y, X, 3) float32; the patch with the most attention keeps its brightness.
    """
    record = AttentionRecord()
    outputs = model({IMAGES: ops.convert_to_tensor(images)}, record=record)
    counts = ops.convert_to_numpy(model.pooled_fractions(outputs))
    weights = ops.convert_to_numpy(record.stacked()[ENCODER].weights)
    seen = np.stack([pooling @ rollout(layers)[-1, 0] for pooling, layers in zip(counts, weights, strict=True)])
    patches = seen[:, model.num_prefix_tokens :].reshape(-1, *model.patch_grid, 1)
    brightness = patches / patches.max(axis=(1, 2), keepdims=True)
    return images * (MIN_BRIGHTNESS + (1 - MIN_BRIGHTNESS) * tf.image.resize(brightness, images.shape[1:3]).numpy())
