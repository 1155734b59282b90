"""The report of an image classifier: errors, confused pairs and training images as pictures."""

import base64
import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tests.data.small_images import as_array, encoded, picture
from tfattn.evaluation import image_classification
from tfattn.evaluation.image_classification import MIN_BRIGHTNESS, attention_overlay
from tfattn.evaluation.report import Gallery
from tfattn.features import IMAGES, LABEL_IDS
from tfattn.models.vit import Vit
from tfattn.preprocessing.images import Images

LABELS = ["cat", "<b>dog</b>", "ship"]
TRUE = np.array([0, 0, 0, 1, 1, 2])
SCORES = np.array(
    [[0.9, 0.1, 0], [0.2, 0.7, 0.1], [0.05, 0.95, 0], [0.1, 0.6, 0.3], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], np.float32
)
ROWS = [
    {"row": f"photos/{number}.png", "label": LABELS[TRUE[number]], "image": encoded(picture(number), "PNG")}
    for number in range(6)
]


def trained_on(split):
    """A reader of four images, the same in each epoch but for their brightness."""
    assert split == "train"
    pixels = np.random.default_rng(0).random((4, 8, 8, 3), np.float32)
    batches = [
        {IMAGES: tf.constant(pixels * (1 - epoch / 2)), LABEL_IDS: tf.constant([0, 1, 2, 0])} for epoch in (0, 1)
    ]
    return SimpleNamespace(dataset=lambda epoch: [batches[epoch]])


def ensemble_of(labels):
    model = Vit(image_size=8, patch_size=4, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=16)
    task = SimpleNamespace(model=model)
    return SimpleNamespace(labels=labels, preprocessor=Images(size=8), task=task, calibrator=None)


@pytest.fixture(scope="module")
def findings(predictions):
    ensemble = ensemble_of(LABELS)
    values = {"label_ids": SCORES.argmax(axis=1), "scores": SCORES}
    predicted = predictions(ROWS, values, {"label_ids": TRUE}, split="validation")
    return image_classification.report(ensemble, dataclasses.replace(predicted, reader=trained_on))


def galleries(findings, title):
    section = next(section for section in findings.sections if section.title == title)
    return [part for part in section.parts if isinstance(part, Gallery)]


def test_the_worst_errors_are_shown_as_preprocessed(findings):
    gallery, lit = galleries(findings, "Most confident errors")
    words = [one for _, one in gallery.images]
    starts = ["cat → <b>dog</b>, 95.0%", "cat → <b>dog</b>, 70.0%", "<b>dog</b> → cat, 50.0%"]
    numbers = [2, 1, 4]
    assert words == [f"{start} ({Path(ROWS[n]['row']).name})" for start, n in zip(starts, numbers, strict=True)]
    expected = Images(size=8).pixels(tf.constant([ROWS[2]["image"]])).numpy()[0]
    np.testing.assert_array_equal(as_array(gallery.images[0][0]), expected)
    assert [one for _, one in lit.images] == words
    assert (as_array(lit.images[0][0]) <= expected).all() and as_array(lit.images[0][0]).shape == expected.shape


def test_confused_pairs_and_training_images_have_pictures_too(findings):
    pairs = galleries(findings, "Most frequent confusions")
    assert [len(one.images) for one in pairs] == [2, 1]
    epochs = galleries(findings, "Training images")
    assert [[words for _, words in one.images] for one in epochs] == [["cat", "<b>dog</b>", "ship", "cat"]] * 2
    first, second = (as_array(one.images[0][0]) for one in epochs)
    assert np.abs(first / 2 - second).max() <= 1


def test_large_images_are_shown_small():
    [data] = image_classification._pngs(np.full((1, 300, 150, 3), 0.5, np.float32))
    assert as_array(data).shape == (96, 48, 3)


def test_the_page_holds_its_pictures_and_escapes_labels(findings, write, tmp_path):
    folder = write(tmp_path, findings, split="validation")
    page = (folder / "report.html").read_text()
    found = re.findall(r'<img src="data:image/png;base64,([^"]+)"', page)
    assert len(found) == 2 * 3 + 3 + 8
    assert all(base64.b64decode(one, validate=True).startswith(b"\x89PNG") for one in found)
    assert "<b>dog" not in page and "&lt;b&gt;dog" in page
    assert "img-src data:" in page and "what is the label of an image?" in page
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert len(lines) == 6 and all("image" not in line for line in lines), "lines are read by people"
    assert lines[1]["row"] == "photos/1.png"


def test_top_5_is_measured_for_more_than_five_labels(predictions, findings):
    assert "top_5_accuracy" not in findings.metrics
    labels = [f"class {number}" for number in range(6)]
    scores = np.tile(np.arange(6, dtype=np.float32) / 15, (6, 1))
    true = np.arange(6)
    rows = [{**row, "label": labels[number]} for number, row in enumerate(ROWS)]
    predicted = predictions(rows, {"label_ids": scores.argmax(axis=1), "scores": scores}, {"label_ids": true})
    ensemble = ensemble_of(labels)
    metrics = image_classification.report(ensemble, dataclasses.replace(predicted, reader=trained_on)).metrics
    assert np.isclose(metrics["top_5_accuracy"], 5 / 6) and np.isclose(metrics["accuracy"], 1 / 6)


SIZES = {"image_size": 8, "patch_size": 4, "hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16}


@pytest.mark.parametrize("pooling", ["class_token", "mean", "attention"])
def test_uniform_attention_keeps_the_brightness(pooling):
    model = Vit(**SIZES, pooling=pooling)
    for variable in model.trainable_variables:
        if "qkv" in variable.path or "score" in variable.path:
            variable.assign(np.zeros(variable.shape))
    images = np.random.default_rng(1).random((2, 8, 8, 3)).astype("float32")
    np.testing.assert_allclose(attention_overlay(model, images), images, atol=1e-5)


def test_the_patch_with_the_most_attention_is_the_brightest():
    model = Vit(**SIZES, pooling="attention", positions="none")
    for variable in model.trainable_variables:
        if "qkv" in variable.path:
            variable.assign(np.zeros(variable.shape))
        if "score" in variable.path:
            variable.assign(np.random.default_rng(5).normal(size=variable.shape) * 9)
    image = np.full((1, 8, 8, 3), 0.5, "float32")
    image[0, 4:, :4] = [0.9, 0.1, 0.7]  # one patch unlike the others
    lit = attention_overlay(model, image)[0] / image[0]
    patch, other = lit[5:7, 1:3].mean(), lit[1:3, 5:7].mean()
    fractions = np.array(model.pooled_fractions(model({"images": image})))[0]
    assert (patch > other) == (fractions[2] > fractions[1])
    assert lit.max() == pytest.approx(1, abs=1e-5) and lit.min() >= MIN_BRIGHTNESS - 1e-6
