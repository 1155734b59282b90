"""Tables: statistics of training rows, and equality of training and export."""

import json
import math
import tracemalloc

import numpy as np
import pytest
import tensorflow as tf

from tests.contracts.preprocessor import check_preprocessor
from tfattn.config.constructors import constructor
from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing.table import TableColumns

ROWS = [
    {"age": "20", "score": "0.5", "job": "clerk"},
    {"age": " 30 ", "score": "", "job": "smith"},
    {"age": "40", "score": "5000", "job": "?"},
    {"age": "70", "score": "2.5", "job": " clerk "},
    {"age": "40", "score": "4.5", "job": "baker"},
]


def columns(rows):
    return {name: tf.constant([row[name] for row in rows]) for name in rows[0]}


def fitted(rows=ROWS, **options):
    options = {"numeric": ("age", "score"), "categorical": ("job",), "caps": {"score": 5000.0}, **options}
    table = TableColumns(**options)
    table.fit(rows)
    return table


def test_features_by_hand():
    features = {name: value.numpy() for name, value in fitted(bins=4)(columns(ROWS)).items()}

    # A missing score is the median of 0.5, 2.5, 4.5; a saturated one stands a deviation above 4.5.
    ages = np.array([20, 30, 40, 70, 40], float)
    known = np.array([0.5, 2.5, 4.5])
    saturated = 4.5 + known.std()
    placed = np.array([0.5, saturated, 2.5, 4.5])
    scores = (np.array([0.5, 2.5, saturated, 2.5, 4.5]) - placed.mean()) / placed.std()
    expected = np.stack([(ages - ages.mean()) / ages.std(), scores], axis=1)
    np.testing.assert_allclose(features["numeric"], expected, atol=1e-6)
    np.testing.assert_array_equal(features["missing"], [[0, 0], [0, 1], [0, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(features["category_ids"], [[3], [4], [1], [3], [2]])
    # Quarters of the ages: 20, 30, 40 (twice over) and 70. Thirds of the scores: 0.5, 11/6, 19/6, 4.5; then saturation.
    np.testing.assert_array_equal(features["piecewise"][1, :4], [1, 0, 0, 0])
    np.testing.assert_array_equal(features["piecewise"][2, :4], [1, 1, 0, 0])
    np.testing.assert_allclose(features["piecewise"][:, 4:].sum(axis=1), [0, 1.5, 4, 1.5, 3], atol=1e-6)
    np.testing.assert_array_equal(features["piecewise"][:, 7], [0, 0, 1, 0, 0])


def test_the_kinds_and_shapes_of_features():
    features = fitted(bins=4)(columns(ROWS))
    assert {name: (value.dtype.name, value.shape.as_list()) for name, value in features.items()} == {
        "numeric": ("float32", [5, 2]),
        "missing": ("float32", [5, 2]),
        "piecewise": ("float32", [5, 8]),
        "category_ids": ("int32", [5, 1]),
    }
    table = fitted(bins=4)
    assert table.sizes == {"num_numeric": 2, "category_counts": [5], "num_bins": 4}
    assert set(fitted()(columns(ROWS))) == {"numeric", "missing", "category_ids"}


def test_columns_of_a_single_kind():
    rows = columns(ROWS)
    assert set(fitted(categorical=())(rows)) == {"numeric", "missing"}
    table = fitted(numeric=(), caps=None)
    assert set(table(rows)) == {"category_ids"}
    assert table.outside(table.numbers(rows)).shape == (5, 0)
    assert fitted(categorical=()).sizes["category_counts"] == []


def test_numbers_and_texts_give_equal_features():
    table = fitted(bins=3, numeric=("score", "age"))
    texts = table(columns(ROWS))
    numbers = table(
        {
            "age": tf.constant([20, 30, 40, 70, 40]),
            "score": tf.constant([0.5, math.nan, 5000.0, 2.5, 4.5]),
            "job": tf.constant(["clerk", "smith", "", "clerk", "baker"]),
        }
    )
    for name, values in texts.items():
        np.testing.assert_array_equal(values, numbers[name], err_msg=name)


def test_contract(tmp_path):
    every = {"bins": 4, "multiply": {"age": 0.1}, "missing": ("", "?", "-")}
    kinds = [{"scaling": scaling, **every} for scaling in ("standard", "quantile", "none")]
    for number, options in enumerate([*kinds, {"categorical": ()}, {"numeric": (), "caps": None}]):
        (tmp_path / str(number)).mkdir()
        table, other = fitted(**options), TableColumns(numeric=("z",))
        check_preprocessor(table, other, ROWS, folder=tmp_path / str(number), odd_fields=table.categorical)
        assert other.missing == table.missing


def test_saved_tables_can_be_loaded(tmp_path):
    fitted(multiply={"age": 0.1}).save(tmp_path)
    saved = json.loads((tmp_path / "table.json").read_text())
    assert saved["categorical"] == {"job": ["baker", "clerk", "smith"]}
    assert saved["numeric"]["age"]["median"] == pytest.approx(4.0)


@pytest.mark.parametrize("content", [None, "", "[]", '{"numeric": {}}', '{"numeric": {"x": {"a": 1}}}'])
def test_a_damaged_file_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "table.json").write_text(content)
    with pytest.raises(DataError, match=r"table.json: the file is (missing|damaged).*Prepare the data again"):
        TableColumns(numeric=("x",)).load(tmp_path)


def test_missing_may_be_empty():
    table = fitted([{**row, "score": row["score"] or "1"} for row in ROWS], missing=())
    with pytest.raises(DataError, match="the column `age` holds no finite number: expected a number, received ''"):
        table.check({"age": "", "score": "1", "job": ""}, "x.csv:2")
    assert table.sizes["category_counts"] == [6]  # "?" is a category now


def test_a_pipeline_file_may_give_lists(tmp_path):
    """What YAML holds fits the constructor's types, and changes nothing."""
    options = {
        "numeric": ["age", "score"],
        "categorical": ["job"],
        "caps": {"score": 5000},
        "multiply": {"age": 2.5},
        "scaling": "quantile",
        "bins": 3,
        "missing": ["", "?"],
    }
    arguments = constructor("preprocessors", "table").arguments
    assert not [problem for name, value in options.items() for problem in arguments[name].check(value)]
    table, twin = TableColumns(**options), fitted(**options)
    table.fit(ROWS)
    table.save(tmp_path)
    twin.load(tmp_path)
    for name, values in table(columns(ROWS)).items():
        np.testing.assert_array_equal(values, twin(columns(ROWS))[name], err_msg=name)
    assert arguments["multiply"].check({"age": 0}) and arguments["caps"].check({"age": math.inf})


# What is refused.


@pytest.mark.parametrize(
    "text", ["abc", "1,5", "12a", "1_000", "0x10", "inf", "-Infinity", "NaN", "1e39", "1e400", "--1", "1 2", "٣", "e5"]
)
def test_invalid_numbers_are_refused_with_row_and_column(text):
    table = fitted()
    with pytest.raises(DataError) as refused:
        table.check({"age": "1", "score": text, "job": "?"}, "x.csv:12")
    assert str(refused.value).startswith("x.csv:12: the column `score` holds no finite number: expected a number")
    assert f"received {text!r}" in str(refused.value)
    with pytest.raises(DataError, match="training row 2: the column `age`"):
        fitted([ROWS[0], {**ROWS[1], "age": text}])
    with pytest.raises(tf.errors.InvalidArgumentError, match="the column `score` holds no finite number in row 3"):
        table(columns([*ROWS[:2], {**ROWS[2], "score": text}]))


@pytest.mark.parametrize("text", ["7", "-7.", "+.5", "1e5", "1.5E-3", "007", "\t8 \r\n", "1e-50", "3.4e38"])
def test_valid_numbers_are_parsed(text):
    table = fitted()
    row = {"age": text, "score": text, "job": text}
    table.check(row, "x.csv:12")
    np.testing.assert_array_equal(table.numbers(columns([row])), np.full((1, 2), text, np.float32))


@pytest.mark.parametrize("text", ["", " ", "?", "NA", "nan"])
def test_missing_values_in_every_column(text):
    table = fitted()
    row = {"age": text, "score": text, "job": text}
    table.check(row, "x.csv:12")
    features = table(columns([row]))
    np.testing.assert_array_equal(features["missing"], [[1, 1]])
    np.testing.assert_array_equal(features["category_ids"], [[1]])
    np.testing.assert_array_equal(
        features["numeric"], table(columns([{**row, "age": "40", "score": "2.5"}]))["numeric"]
    )


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_numeric_inputs_must_be_finite(value):
    fields = {"age": tf.constant([1.0, value]), "score": tf.constant([1.0, 2.0]), "job": tf.constant(["", ""])}
    with pytest.raises(tf.errors.InvalidArgumentError, match="the column `age` holds no finite number in row 2"):
        fitted()(fields)


def test_missing_numbers_are_accepted_in_any_form():
    table = fitted()  # `score` was missing in a training row, `age` never
    sent = {"age": tf.constant([math.nan, 1.0]), "score": tf.constant([1.0, math.nan]), "job": tf.constant(["", ""])}
    read = {"age": tf.constant(["", "1"]), "score": tf.constant(["1", "?"]), "job": tf.constant(["", ""])}
    for name, values in table(sent).items():
        np.testing.assert_array_equal(values, table(read)[name], err_msg=name)
    np.testing.assert_array_equal(table(sent)["missing"], [[1, 0], [0, 1]])
    np.testing.assert_array_equal(table.outside(table.numbers(sent)), [[True, False], [True, False]])


def test_categories_that_no_training_row_had_are_marked(tmp_path):
    table = TableColumns(categorical=("job", "town"))
    table.fit([{"job": "clerk", "town": "Ulm"}, {"job": "", "town": "Bonn"}])
    table.save(tmp_path)
    table.load(tmp_path)
    rows = [("clerk", "Bonn"), ("", ""), ("pilot", " Ulm "), ("Ulm", "clerk")]
    features = table({"job": tf.constant([row[0] for row in rows]), "town": tf.constant([row[1] for row in rows])})
    marked = [[False, False], [False, True], [True, False], [True, True]]
    np.testing.assert_array_equal(table.unseen(features), marked)
    numeric = fitted(categorical=())
    assert numeric.unseen(numeric(columns(ROWS))).shape == (5, 0)


def test_a_row_that_lacks_a_column_is_refused():
    with pytest.raises(DataError, match="x.csv:3: there is no column `score`: expected some of age, job"):
        fitted().check({"age": "1", "job": "a"}, "x.csv:3")


@pytest.mark.parametrize("values", [["a", " a", "a "], ["", "?", ""]])
def test_a_constant_categorical_column_is_refused(values):
    table = TableColumns(categorical=("job",))
    with pytest.raises(DataError, match=r"`job` is constant: .* in all 3 rows. Remove it from `categorical`"):
        table.fit([{"job": value} for value in values])
    table.fit([{"job": "a"}, {"job": ""}])
    assert table.sizes["category_counts"] == [3]


def test_fitting_without_rows_is_refused():
    with pytest.raises(DataError, match="there are no training rows"):
        fitted([])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "there are no columns"),
        ({"numeric": ("a", "a")}, "a column is listed twice: received a"),
        ({"numeric": ("a",), "categorical": ("a",)}, "a column is listed twice: received a"),
        ({"numeric": ("age",), "caps": {"agee": 1.0}}, "not a numeric column: expected some of age, received agee"),
        ({"numeric": ("age",), "multiply": {"job": 1.0}}, "not a numeric column: expected some of age, received job"),
    ],
)
def test_inconsistent_settings_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        TableColumns(**options)


# In an export.


def test_an_export_takes_numbers_and_texts_and_reports_invalid_numbers(tmp_path):
    class Served(tf.Module):
        def __init__(self, table):
            super().__init__()
            self.table = table
            text = {name: tf.TensorSpec([None], tf.string, name=name) for name in table.fields}
            sent = {name: tf.TensorSpec([None], tf.float32, name=name) for name in table.numeric}
            self.read = tf.function(self._answer, input_signature=[text], autograph=False)
            self.take = tf.function(self._answer, input_signature=[{**text, **sent}], autograph=False)

        def _answer(self, fields):
            numbers = self.table.numbers(fields)
            return {**self.table.features(numbers, fields), "outside": self.table.outside(numbers)}

    table = fitted(bins=5, scaling="quantile", multiply={"age": 3.0})
    served = Served(table)
    tf.saved_model.save(served, str(tmp_path), signatures={"serving_default": served.read, "numbers": served.take})
    loaded = tf.saved_model.load(str(tmp_path))
    rows = [*ROWS, {"age": "-1e9", "score": "77", "job": "pilot"}, {"age": "35", "score": "?", "job": ""}]
    fields = columns(rows)
    answers = loaded.signatures["serving_default"](**fields)

    np.testing.assert_array_equal(answers["outside"].numpy().any(axis=1), [False] * 5 + [True, False])
    numbers = table.numbers(fields)
    sent = loaded.signatures["numbers"](age=numbers[:, 0], score=numbers[:, 1], job=fields["job"])
    np.testing.assert_array_equal(sent["numeric"], answers["numeric"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="the column `age` holds no finite number in row 7"):
        loaded.signatures["serving_default"](**{**fields, "age": tf.constant(["1"] * 6 + ["x"])})


def test_unseen_values_are_counted_and_missing_values_are_not():
    rows = [{"job": job, "town": town} for job, town in [("a", "x"), ("b", "y"), ("c", "")]]
    table = fitted(rows, numeric=(), categorical=("job", "town"), caps=None)
    unknown = table.unknown({"job": tf.constant([" a", "new one", "?"]), "town": tf.constant(["", "x", "z"])})
    assert {name: (one.counted, dict(one.values)) for name, one in unknown.items()} == {
        "job": (2, {"new one": 1}),
        "town": (2, {"z": 1}),
    }
    assert fitted(categorical=()).unknown(columns(ROWS)) == {}


def test_texts_are_not_kept_during_fit():
    def learn(count):
        rows = ({"age": f"{row}.{'0' * 1000}", "job": "ab"[row % 2] + " " * 1000} for row in range(count))
        TableColumns(numeric=("age",), categorical=("job",)).fit(rows)

    learn(2)
    tracemalloc.start()
    try:
        learn(2000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2000 * 500


def test_a_number_out_of_range_names_the_range():
    with pytest.raises(DataError, match="expected a number from -3.4e38 to 3.4e38 .*received '1e300'"):
        fitted().check({"age": "1e300", "score": "1", "job": "?"}, "x.csv:12")
