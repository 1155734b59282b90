"""An export of images reads files, equals the trained model, and reports unreadable images."""

import base64
import json

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from tests.contracts.servable_model import check_servable_model
from tests.data.small_images import encoded, picture
from tfattn.export import card, parity
from tfattn.export.row_tasks import Classifier
from tfattn.models.vit import Vit
from tfattn.preprocessing.images import Images
from tfattn.tasks.classification import Classification
from tfattn.trained.ensemble import TrainedEnsemble

LABELS = ["cat", "dog", "机械"]
ROWS = [
    {"image": encoded(picture(0)), "label": "cat", "row": "a/0.jpg"},
    {"image": encoded(picture(1, height=40, width=9), "PNG"), "label": "dog", "row": "a/1.png"},
    {"image": encoded(picture(2).convert("L"), "GIF"), "label": "dog", "row": "a/2.gif"},
    {"image": encoded(picture(3, height=50, width=80).convert("CMYK")), "label": "cat", "row": "a/3.jpg"},
]


@pytest.fixture(scope="module")
def ensemble():
    vit = Vit(
        image_size=8, patch_size=4, hidden_dim=8, num_layers=1, num_heads=2, intermediate_dim=16, initializer_range=0.5
    )
    task = Classification(model=vit, targets={"labels": LABELS, "counts": [1, 1, 1]})
    task.head.kernel.assign(np.random.default_rng(0).normal(size=(8, 3)))
    return TrainedEnsemble([(Images(size=8, max_side=100), task)])


@pytest.fixture(scope="module")
def folder(ensemble, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    check_servable_model(Classifier, ensemble, ROWS, folder=folder, litert=True)
    return folder / "1"


@pytest.fixture(scope="module")
def loaded(folder):
    return tf.saved_model.load(str(folder))


def test_images_have_named_and_typed_outputs(loaded, ensemble):
    answers = loaded.signatures["serving_default"](image=tf.constant([row["image"] for row in ROWS]))
    assert {name: value.dtype for name, value in answers.items()} == {
        "label": tf.string,
        "label_id": tf.int64,
        "scores": tf.float32,
    }
    expected = ensemble.predict(ROWS)
    np.testing.assert_allclose(answers["scores"], expected["scores"], atol=1e-6)
    assert len({tuple(row) for row in expected["scores"].round(4).tolist()}) == 4


def test_no_images_give_no_predictions_and_features_are_the_head_inputs(loaded, ensemble):
    assert loaded.signatures["serving_default"](image=tf.constant([], tf.string))["scores"].shape == (0, 3)
    images = tf.constant([row["image"] for row in ROWS])
    encoded = loaded.signatures["features"](image=images)["encoded"]
    np.testing.assert_allclose(encoded, ensemble.task.encode(ensemble.preprocessor({"image": images})), atol=1e-6)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no image", "image 3 is no JPEG, PNG, GIF or BMP"),
        (b"", "image 3 is no JPEG, PNG, GIF or BMP"),
        (encoded(Image.new("L", (101, 2)), "PNG"), "image 3 has sides of more than 100 pixels"),
        (encoded(Image.new("L", (50_000, 2))), "image 3 has sides of more than 100 pixels"),
    ],
)
def test_an_unreadable_image_is_refused_with_its_number(loaded, data, message):
    images = tf.constant([ROWS[0]["image"], ROWS[1]["image"], data])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        loaded.signatures["serving_default"](image=images)


def test_a_plain_process_gives_equal_results(folder, ensemble):
    served = Classifier(ensemble)
    report = parity.check(served, folder, rows=ROWS, expected=ensemble.predict(ROWS), tolerance=1e-5)
    assert report["rows"] == 4 and report["label_agreement"] == 1.0


def test_the_card_has_images_in_request_format(folder, ensemble):
    large = {"image": encoded(picture(4, height=900, width=900), "BMP"), "row": "large"}
    card.write(folder, Classifier(ensemble), rows=[large, *ROWS], columns={}, metrics={}, measured_on="")
    written = json.loads((folder / card.FILE).read_text())
    assert written["inputs"]["image"]["kind"] == "image" and written["inputs"]["image"]["height"] == 8
    found = [base64.b64decode(example["image"]["b64"]) for example in written["examples"]]
    assert found == [row["image"] for row in ROWS], "none that would take long to load"
