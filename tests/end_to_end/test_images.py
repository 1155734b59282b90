"""From a folder of photographs to predictions, by the command line."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from tests.data.small_images import encoded
from tfattn.attention.looking import look
from tfattn.stages import open_run
from tfattn.trained.ensemble import load

PIPELINE = """\
name: shades
data:
  source: {name: image_folder, path: photos, damaged: leave_out}
  split: {validation: 0.25}
  preprocessing: {name: images, size: 8}
  batching: {batch_size: 8}
  augmentation: {shift: 1, flip: alternating, cutout: 2, mixup: 0.2}
model: {name: vit, patch_size: 4, hidden_dim: 16, num_layers: 1, num_heads: 2, intermediate_dim: 32}
task: {name: classification}
training: {epochs: 6, optimizer: {name: adamw, learning_rate: 1e-2}}
runtime: {precision: float32}
"""


def write_photos(folder, *, each=16):
    """Dark photographs and bright ones, and one that is none."""
    random = np.random.default_rng(0)
    for label, low in (("dark", 0), ("bright", 160)):
        (folder / label).mkdir(parents=True)
        for number in range(each):
            pixels = random.integers(low, low + 90, (9, 12, 3), np.uint8)
            (folder / label / f"{number}.jpg").write_bytes(encoded(Image.fromarray(pixels)))
    (folder / "dark/none.jpg").write_text("no image")


@pytest.fixture(scope="module")
def trained(run_once):
    def write(folder):
        write_photos(folder / "photos")
        (folder / "shades.yaml").write_text(PIPELINE)

    return run_once("shades", write, "shades.yaml")


def test_an_image_folder_is_trained_and_exported(trained, command, monkeypatch):
    project, answer = trained
    assert answer.status == 0, answer.errors
    assert "left out: no image that can be read" in answer.errors and "dark/none.jpg" not in answer.output
    monkeypatch.chdir(project)
    metrics = json.loads((project / "runs/shades/latest/metrics.json").read_text())
    assert metrics["accuracy"] == 1.0 and metrics["trained_baseline_accuracy"] > 0.5
    page = (project / "runs/shades/latest/report.html").read_text()
    assert "Training images" in page and "data:image/png;base64," in page

    answer = command("predict", "shades", "--input", "photos/*/1.jpg")
    assert answer.status == 0, answer.errors
    rows = [json.loads(line) for line in answer.output.splitlines()]
    assert [(row["image"], row["label"]) for row in rows] == [
        ("photos/bright/1.jpg", "bright"),
        ("photos/dark/1.jpg", "dark"),
    ]
    answer = command("predict", "shades", "--input", "photos/dark")
    lines = [json.loads(line) for line in answer.output.splitlines()]
    assert answer.status == 1 and len(lines) == 17 and "not a supported image" in lines[-1]["error"]


def test_the_baseline_is_switched_off(trained, command, monkeypatch):
    project, _ = trained
    monkeypatch.chdir(project)
    answer = command("evaluate", "shades.yaml", "--set", "evaluation.baseline=false")
    assert answer.status == 0 and "Trained baseline" not in answer.errors
    metrics = json.loads((project / "runs/shades/latest/metrics.json").read_text())
    assert metrics["accuracy"] == 1.0 and "trained_baseline_accuracy" not in metrics


def test_augmentation_is_not_part_of_prepared_data(trained, command, monkeypatch):
    project, _ = trained
    monkeypatch.chdir(project)
    answer = command("prepare", "shades.yaml", "--set", "data.augmentation={flip: random}")
    assert answer.status == 0 and "nothing has changed" in answer.errors


def test_attention_is_overlaid_on_the_image(trained, command, monkeypatch, tmp_path):
    project, _ = trained
    monkeypatch.chdir(project)
    answer = command("attention", "shades", "--image", "photos/bright/1.jpg", "--output", tmp_path / "looks.html")
    assert answer.status == 0, answer.errors
    views = look("shades", image="photos/bright/1.jpg")
    (tokens,) = views.sequences
    assert list(tokens.names) == ["[CLS]", "1, 1", "1, 2", "2, 1", "2, 2"] and tokens.grid == (2, 2)
    assert tokens.special == [True, False, False, False, False]
    assert views.attributions.scored == "bright" and views.part("encoder").weights.shape == (1, 2, 5, 5)
    ensemble = load(open_run(Path("shades.yaml"), None))
    images = ensemble.preprocessor({"image": tf.constant([Path("photos/bright/1.jpg").read_bytes()])})
    expected = np.asarray(ensemble.task.model.attention(images)["encoder"].weights)[0]
    np.testing.assert_allclose(views.part("encoder").weights, expected, atol=1e-5)
    seen = np.asarray(Image.open(io.BytesIO(tokens.image)))
    np.testing.assert_allclose(seen / 255, images["images"][0], atol=1 / 255)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--text", "bright"], "--text: the model does not have this input: expected --image"),
        ([], "there is no image: expected an image file: --image"),
        (["--image", "photos/none.jpg"], "photos/none.jpg: the file is missing"),
        (["--image", "shades.yaml"], "is no JPEG, PNG, GIF or BMP"),
    ],
)
def test_an_unreadable_image_is_refused(trained, command, monkeypatch, tmp_path, arguments, said):
    project, _ = trained
    monkeypatch.chdir(project)
    answer = command("attention", "shades", *arguments, "--output", tmp_path / "looks.html")
    assert answer.status and said in answer.errors and not (tmp_path / "looks.html").exists()
