"""An export of a table has named columns, equals the ensemble, and reports invalid inputs."""

import json
import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from tfattn import files
from tfattn.errors import ExportError
from tfattn.export import warmup
from tfattn.export.row_tasks import Classifier
from tfattn.export.servable_row_model import example
from tfattn.formats.training_file import TrainingFile
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.models.feature_map_transformer import FeatureMapTransformer
from tfattn.preprocessing.table import TableColumns
from tfattn.tasks.classification import Classification
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.trained.ensemble import TrainedEnsemble

LABELS = ["noise", "real"]
TARGETS = {"labels": LABELS, "counts": [1, 1]}
ROW = {"age": 30.0, "hours-per-week": 20.0, "Score.BG": 2.0, "work_class": "private"}


@pytest.fixture(scope="module")
def answer(loaded_table):
    """Answers rows of numbers and texts."""
    return lambda *rows: asked(loaded_table.signatures["serving_default"], rows)


def asked(signature, rows):
    columns = {
        name: tf.constant([row[name] for row in rows], tf.string if name == "work_class" else tf.float32)
        for name in ROW
    }
    return {name: value.numpy() for name, value in signature(**columns).items()}


def as_sent(row):
    """A raw row as a program sends it."""
    return {name: _sent(name, row[name]) for name in ROW}


def _sent(name, text):
    return text if name == "work_class" else math.nan if text == "?" else float(text)


def classifier(members, **options):
    return Classifier(TrainedEnsemble(members, **options))


# Answers.


def test_the_export_equals_the_ensemble(answer, table_members, table_rows, ask_members):
    answers, expected = answer(*map(as_sent, table_rows)), ask_members(table_members, table_rows)
    assert {name: value.dtype for name, value in answers.items()} == {
        "label": object,
        "label_id": np.int64,
        "probability": np.float32,
        "scores": np.float32,
        "outside_training_range": object,
        "unknown_categories": object,
        "column_attention": np.float32,
    }
    np.testing.assert_allclose(answers["scores"], expected["scores"], atol=1e-6)
    np.testing.assert_allclose(answers["column_attention"], expected["column_attention"], atol=1e-6)
    np.testing.assert_array_equal(answers["label_id"], expected["label_ids"])
    np.testing.assert_array_equal(answers["probability"], answers["scores"][:, 1])
    assert [label.decode() for label in answers["label"]] == [LABELS[one] for one in expected["label_ids"]]
    assert len(set(answers["label"])) == 2
    assert not any(answers["outside_training_range"]) and not any(answers["unknown_categories"])


def test_two_members_predict_their_mean(answer, table_members, table_rows, ask_members):
    one, other = (ask_members([member], table_rows)["scores"] for member in table_members)
    assert np.abs(one - other).max() > 0.1
    np.testing.assert_allclose(answer(*map(as_sent, table_rows))["scores"], (one + other) / 2, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1, 33])
def test_any_number_of_rows_is_predicted(answer, table_rows, count):
    rows = [as_sent(table_rows[number % len(table_rows)]) for number in range(count)]
    answers = answer(*rows)
    assert {len(value) for value in answers.values()} == {count}
    assert answers["scores"].shape == (count, 2) and answers["column_attention"].shape == (count, 4)
    if count > 1:
        alone = np.concatenate([answer(row)["scores"] for row in rows[:5]])
        np.testing.assert_allclose(answers["scores"][:5], alone, atol=1e-6)


def test_serialized_examples_give_equal_predictions(loaded_table, answer, table_rows):
    rows = [as_sent(row) for row in table_rows]
    classified = loaded_table.signatures["classify"](inputs=tf.constant([example(row) for row in rows]))
    np.testing.assert_array_equal(classified["scores"], answer(*rows)["scores"])
    assert [[label.decode() for label in row] for row in classified["classes"].numpy()] == [LABELS] * len(rows)


def test_an_example_without_a_column_is_refused(loaded_table):
    lacking = example({name: value for name, value in ROW.items() if name != "hours-per-week"})
    with pytest.raises(tf.errors.InvalidArgumentError, match="hours-per-week"):
        loaded_table.signatures["classify"](inputs=tf.constant([example(ROW), lacking]))


def test_essential_features_are_returned_if_a_model_has_them():
    rows = [{f"c{column}": str((7 * row + 3 * column) % 11) for column in range(14)} for row in range(9)]
    table = TableColumns(numeric=tuple(rows[0]), scaling="none")
    table.fit(rows)
    keras.utils.set_random_seed(0)
    task = Classification(model=FeatureMapTransformer(num_numeric=14, category_counts=[]), targets=TARGETS)
    served = classifier([(table, task)])
    signature = served.signatures()["serving_default"]
    answers = signature(*(tf.constant(values) for values in served.request(rows).values()))
    expected = task.predictions(task(table({name: tf.constant([row[name] for row in rows]) for name in table.fields})))
    assert answers["essential_features"].shape == (9, 4) and "column_attention" not in answers
    np.testing.assert_allclose(answers["essential_features"], expected["essential_features"], atol=1e-6)
    np.testing.assert_allclose(answers["scores"], expected["scores"], atol=1e-6)


def test_the_threshold_of_an_operating_point_decides_the_label(make_member, table_rows, ask_members):
    member = make_member(1)
    scores = ask_members([member], table_rows)["scores"][:, 1]
    for threshold in (0.0, float(np.sort(scores)[-3]), 1.1):
        served = classifier([member], operating_point=OperatingPoint(threshold, metrics={}))
        answers = served.signatures()["serving_default"](
            *(tf.constant(values) for values in served.request(table_rows).values())
        )
        np.testing.assert_array_equal(answers["label_id"], scores >= threshold)
        np.testing.assert_allclose(answers["probability"], scores, atol=1e-6)


def test_without_a_positive_label_the_probability_is_that_of_the_prediction(make_member, table_rows):
    served = classifier([make_member(3, num_classes=3)])
    answers = served.signatures()["serving_default"](
        *(tf.constant(values) for values in served.request(table_rows).values())
    )
    np.testing.assert_array_equal(answers["probability"], np.max(answers["scores"], axis=1))


# What is not as it was in training.


def test_missing_numbers_are_predicted(answer, table_rows, table_members, ask_members):
    rows = [{**table_rows[0], "hours-per-week": text} for text in ("?", "20")]
    answers = answer(*map(as_sent, rows))
    np.testing.assert_allclose(answers["scores"], ask_members(table_members, rows)["scores"], atol=1e-6)
    assert np.abs(answers["scores"][0] - answers["scores"][1]).max() > 1e-4
    assert list(answers["outside_training_range"]) == [b"", b""]


@pytest.mark.parametrize(
    ("column", "value"), [("age", math.inf), ("hours-per-week", -math.inf), ("Score.BG", math.inf)]
)
@pytest.mark.parametrize("signature", ["serving_default", "classify"])
def test_invalid_numbers_are_refused_with_row_and_column_by_the_export(loaded_table, column, value, signature):
    rows = [ROW, ROW, {**ROW, column: value}, ROW]
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"the column `{column}` holds no finite number in row 3"):
        if signature == "classify":
            loaded_table.signatures[signature](inputs=tf.constant([example(row) for row in rows]))
        else:
            asked(loaded_table.signatures[signature], rows)


@pytest.mark.parametrize(
    ("change", "outside", "unknown"),
    [
        ({}, "", ""),
        ({"age": 20.0}, "", ""),  # the lowest of training
        ({"age": 19.9}, "age", ""),
        ({"age": 100.0}, "", ""),  # the second model saw 400
        ({"age": 1e9, "hours-per-week": -1e9}, "age, hours-per-week", ""),
        ({"age": math.nan, "hours-per-week": math.nan, "Score.BG": -0.1}, "age, Score.BG", ""),
        ({"Score.BG": 5000.0}, "", ""),  # the cap, which training knows
        ({"Score.BG": 1e30}, "", ""),
        ({"Score.BG": 4999.0}, "Score.BG", ""),
        ({"work_class": "astronaut"}, "", "work_class"),
        ({"work_class": "", "age": -5.0}, "age", ""),
    ],
)
def test_unseen_values_are_named(answer, change, outside, unknown):
    answers = answer(ROW, {**ROW, **change})
    assert [value.decode() for value in answers["outside_training_range"]] == ["", outside]
    assert [value.decode() for value in answers["unknown_categories"]] == ["", unknown]
    assert np.isfinite(answers["scores"]).all()


# The folder.


def test_the_report_of_parity_and_the_assets(exported_table, table_members, tmp_path):
    report = files.read_json(exported_table / "assets.extra/parity.json")
    assert report["rows"] == 12 and report["label_agreement"] == 1.0
    assert (exported_table / "assets/labels.txt").read_text() == "noise\nreal\n"
    for number, (table, _) in enumerate(table_members):
        table.save(tmp_path)
        saved = (exported_table / f"assets/member_{number}.table.json").read_text()
        assert json.loads(saved) == json.loads((tmp_path / "table.json").read_text())


def test_every_warm_up_request_runs(exported_table, loaded_table):
    records = tf.data.TFRecordDataset(str(exported_table / warmup.FILE)).as_numpy_iterator()
    logs = [prediction_log_pb2.PredictionLog.FromString(record) for record in records]
    sizes = set()
    for log in logs:
        if log.HasField("classify_log"):
            examples = log.classify_log.request.input.example_list.examples
            inputs = {"inputs": tf.constant([one.SerializeToString() for one in examples])}
            answers = loaded_table.signatures["classify"](**inputs)
        else:
            sent = log.predict_log.request.inputs
            answers = loaded_table.signatures["serving_default"](
                **{name: tf.constant(tf.make_ndarray(value)) for name, value in sent.items()}
            )
            sizes.add(len(answers["label"]))
        assert np.isfinite(answers["scores"]).all()
    assert len(logs) > len(sizes) and {1, 32} <= sizes


# Names.


def test_columns_keep_their_names_as_inputs(exported_table, loaded_table):
    specs = loaded_table.signatures["serving_default"].structured_input_signature[1].values()
    assert {spec.name: spec.dtype for spec in specs} == {
        "age": tf.float32,
        "hours-per-week": tf.float32,
        "Score.BG": tf.float32,
        "work_class": tf.string,
    }
    assert TrainingFile.read(exported_table / "assets.extra/source.json", remedy="").columns == {
        name: name for name in ROW
    }


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["Score BG", "b"], r"`Score BG` cannot be the name of an input: .*such as `Score_BG: \"Score BG\"`"),
        (["Größe", "b"], r"`Größe` cannot be the name of an input.* `data.source.fields`, such as `Gr_e: \"Größe\"`"),
        (["机械", "b"], r"`机械` cannot be the name of an input.*such as `column_2: \"机械\"`"),
        (["_a", "b"], "`_a` cannot be the name of an input"),
        (["self", "b"], "`self` cannot be the name of an input.*other than `self`.*`self_2: "),
        (["x-y", "x_y"], "`x-y` and `x_y` cannot both be inputs: .*such as `x_y_2: "),
        (["Age", "age"], "`Age` and `age` cannot both be inputs: expected names that differ in more than case"),
    ],
)
def test_names_that_an_export_cannot_keep_are_refused(columns, message):
    table = TableColumns(numeric=tuple(columns))
    with pytest.raises(ExportError, match=message):
        classifier([(table, Classification(model=_Nothing(), targets=TARGETS))])


@pytest.mark.parametrize("columns", [["1st", "a.b", "name"], ["inputs", "training", "UPPER-lower_9."]])
def test_other_names_are_kept_exactly(columns, tmp_path):
    """What is refused above is what TensorFlow refuses or renames, and no more."""

    class Sum(tf.Module):
        def add(self, *numbers):
            return {"sum": tf.add_n(numbers)}

    module = Sum()
    specs = [tf.TensorSpec([None], tf.float32, name=name) for name in columns]
    tf.saved_model.save(
        module, str(tmp_path), signatures=tf.function(module.add, input_signature=specs, autograph=False)
    )
    signature = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    sent = {name: tf.constant([float(2**place)]) for place, name in enumerate(columns)}
    assert signature(**sent)["sum"].numpy() == [2 ** len(columns) - 1]
    classifier([(TableColumns(numeric=tuple(columns)), Classification(model=_Nothing(), targets=TARGETS))])


class _Nothing(TableEncoder):
    """Stands where a model would."""

    hidden_dim = 4
