"""Explanations of rows: on the command line, from Python and on pages, and errors."""

import json

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import tfattn
from tests.end_to_end.test_tables import write_project as write_table
from tests.serving import authors
from tests.serving.page.served import IMAGES_CARD, Images, save
from tests.serving.servers import RestServer
from tests.serving.stand_ins import TEXTS, Models, Version, signature
from tfattn import files
from tfattn.errors import DataError
from tfattn.evaluation import explain_rows
from tfattn.evaluation.row_explanations import MAX_WORDS, words

TEXT = "Coolant is pooling underneath sorter."
HOSTILE = '<script>alert(1)</script> \x1b[31mred\x07 & "awful" [bold]not bold[/bold] {{ 7 * 7 }}'
COLUMNS = ("age", "income", "rooms")
WEIGHTS = (2.0, -3.0, 0.5)


class Linear(tf.Module):
    """A number that is linear in three columns."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name=name) for name in COLUMNS], autograph=False)
    def predict(self, age, income, rooms):
        return {"prediction": WEIGHTS[0] * age + WEIGHTS[1] * income + WEIGHTS[2] * rooms}


@pytest.fixture(scope="module")
def exports(finished):
    """The folder of the exports of a finished run of texts."""
    return finished[0] / "saved_models"


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """A folder with SavedModels of other programs: a linear one, and one of images."""
    folder = tmp_path_factory.mktemp("others")
    save(linear := Linear(), folder / "linear/1", serving_default=linear.predict)
    save(images := Images(), folder / "images/1", serving_default=images.serve)
    files.write_json(folder / "images/1/assets.extra/card.json", IMAGES_CARD)
    return folder


@pytest.fixture(scope="module")
def table(run_once, command):
    """The folder of a finished run of a table."""
    return run_once("table", lambda folder: write_table(folder, command), "tiny.yaml")[0]


@pytest.fixture
def explain(command, exports):
    """Runs the command on the model of texts; returns the answer."""
    return lambda *words: command("explain", "tiny", *words, "--folder", exports)


def numbers(count):
    draw = np.random.default_rng(count)
    return pd.DataFrame(draw.normal(size=(count, 3)).round(3), columns=COLUMNS)


# Words.


def test_json_lines_add_up_to_the_prediction(explain, command, exports, tmp_path):
    files.write_text(tmp_path / "new.txt", f"{TEXT}\nSorter blows fuses at start up.\n")
    answer = explain("--input", tmp_path / "new.txt", "--output", "-")
    assert answer.status == 0, answer.errors
    lines = [json.loads(line) for line in answer.output.splitlines()]
    predicted = command("predict", "tiny", "--input", tmp_path / "new.txt", "--folder", exports).output.splitlines()
    for line, prediction in zip(lines, map(json.loads, predicted), strict=True):
        assert line["explained"] == prediction["label"] and line["text"] == prediction["text"]
        assert line["score"] == pytest.approx(prediction["score"], abs=1e-5)
        assert sum(unit["contribution"] for unit in line["units"]) == pytest.approx(
            line["score"] - line["base"], abs=1e-4
        )
        assert " ".join(unit["words"] for unit in line["units"]) == line["text"]
        assert all(unit["low"] <= unit["contribution"] <= unit["high"] for unit in line["units"])
    assert lines[0]["base"] == lines[1]["base"] or lines[0]["explained"] != lines[1]["explained"]


def test_a_text_is_explained_in_the_terminal(explain):
    answer = explain(TEXT)
    assert answer.status == 0, answer.errors
    assert TEXT in answer.output and "95% interval" in answer.output and "without words" in answer.output
    assert answer.output.count("█") > 5 and "\x1b" not in answer.output


def test_another_label_is_explained(explain, exports):
    labels = list(tfattn.load("tiny", folder=exports).predictor.labels)
    lines = [json.loads(explain(TEXT, "--label", label, "--output", "-").output) for label in labels]
    assert [line["explained"] for line in lines] == labels
    assert sum(line["score"] for line in lines) == pytest.approx(1, abs=1e-4)
    assert sum(unit["contribution"] for line in lines for unit in line["units"]) == pytest.approx(0, abs=1e-4)


def test_hostile_texts_are_escaped(explain, tmp_path):
    page = tmp_path / "page.html"
    answer = explain(HOSTILE, "--output", page)
    assert answer.status == 0, answer.errors
    text = page.read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text and "<script" not in text
    assert "{{" in text and "49" not in text.split("<main>")[1]
    assert "<mark" in text and "--strength: 50%" in text and ">+" in text
    shown = explain(HOSTILE).output
    assert "\x1b" not in shown and "\x07" not in shown and "[bold]not bold[/bold]" in shown


def test_a_page_has_a_section_for_each_row(explain, tmp_path):
    files.write_text(tmp_path / "new.txt", "It leaks.\nIt is loud.\n")
    assert explain("--input", tmp_path / "new.txt", "--output", tmp_path / "page.html").status == 0
    text = (tmp_path / "page.html").read_text()
    assert "1. " in text and "2. " in text and text.count("All 2 words") + text.count("All 3 words") == 2


def test_long_texts_have_stretches_of_words(exports):
    opened = tfattn.load("tiny", folder=exports).predictor
    scorer = explain_rows.ServedEnsemble(opened)
    fields, texts = words({"row": "", "text": "word " * 250}, scorer)
    assert len(texts) <= MAX_WORDS and "".join(texts) == "word " * 250 and set(fields) == {"text"}
    assert words({"row": "", "text": "漏水 pump!"}, scorer)[1] == ["漏", "水 ", "pump!"]


@pytest.mark.parametrize("text", ["", " \t "])
def test_an_empty_text_is_one_message(explain, text):
    answer = explain(text)
    assert answer.status == 1 and answer.errors.strip().splitlines()[-1] == (
        "error: the text: the text is empty: it has no words to explain"
    )


def test_a_single_word_has_the_whole_difference(explain):
    line = json.loads(explain("Leak", "--output", "-").output)
    [unit] = line["units"]
    assert unit["contribution"] == pytest.approx(line["score"] - line["base"], abs=1e-5)
    assert unit["low"] == unit["high"] == unit["contribution"]


def test_too_many_rows_are_one_message(explain, tmp_path):
    files.write_text(tmp_path / "many.txt", "It leaks.\n" * 100_000)
    answer = explain("--input", tmp_path / "many.txt")
    assert answer.status == 1 and "many.txt:1: there are too many rows to explain" in answer.errors
    assert "expected at most 100 rows" in answer.errors and answer.errors.count("error: ") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--label", "Leek"), "the model has no such label: expected one of"),
        (("--output", "page.pdf"), "expected one of .html, .jsonl"),
        (("--samples", "5000"), "there are too many samples for 5 words: expected at most 2,000 samples"),
    ],
)
def test_wrong_options_are_one_message(explain, options, message):
    answer = explain(TEXT, *options)
    assert answer.status and message in answer.errors and answer.errors.count("error: ") == 1


# Columns.


def test_columns_of_an_export_are_compared_with_its_statistics(table, command, tmp_path):
    text = (table / "flags.tsv").read_text().splitlines(keepends=True)
    files.write_text(tmp_path / "new.tsv", "".join(text[:4]))
    options = ("--folder", table / "saved_models", "--samples", 20)
    answer = command("explain", "tiny", "--input", tmp_path / "new.tsv", "--output", "-", *options)
    assert answer.status == 0, answer.errors
    lines = [json.loads(line) for line in answer.output.splitlines()]
    assert len(lines) == 3
    for line in lines:
        assert [unit["column"] for unit in line["units"]][:2] == ["Expected_Frequency", "Observed_Frequency"]
        total = sum(unit["contribution"] for unit in line["units"])
        assert total == pytest.approx(line["score"] - line["base"], abs=1e-4)
    page = tmp_path / "page.html"
    answer = command("explain", "tiny", "--input", tmp_path / "new.tsv", "--output", page, *options)
    assert answer.status == 0 and page.read_text().count("<svg") == 3


def test_a_linear_model_has_its_weights_times_the_distance_to_the_mean(others):
    model = tfattn.load("linear", folder=others)
    rows, background = numbers(4), numbers(30)
    found = model.explain(rows, background=background, samples=30)
    expected = (rows - background.mean()) * WEIGHTS
    values = found.pivot(index="row", columns="column", values="contribution")[list(COLUMNS)]
    np.testing.assert_allclose(values, expected, atol=1e-4)
    first = found[found["row"] == 0]
    assert first["score"][0] - first["base"][0] == pytest.approx(first["contribution"].sum(), abs=1e-4)
    assert (found["explained"] == "prediction").all()


def test_a_table_without_background_is_one_message(others, command, tmp_path):
    numbers(2).to_csv(tmp_path / "new.csv", index=False)
    answer = command("explain", "linear", "--input", tmp_path / "new.csv", "--folder", others)
    assert answer.status == 1 and "there are no background rows" in answer.errors
    assert "--background FILE" in answer.errors and answer.errors.count("error: ") == 1
    files.write_text(tmp_path / "none.csv", "age,income,rooms\n")
    options = ("--background", tmp_path / "none.csv", "--folder", others)
    answer = command("explain", "linear", "--input", tmp_path / "new.csv", *options)
    assert answer.status == 1 and "none.csv" in answer.errors and answer.errors.count("error: ") == 1


# Other models.


def test_a_model_on_a_server_is_explained(tmp_path):
    def leaks(text):
        return {"prediction": np.array([one.count(b"leak") for one in text], np.float32)}

    default = signature("serving_default", {"text": TEXTS}, {"prediction": (tf.float32, [None])})
    files.write_text(tmp_path / "new.txt", "It leaks and leaks.\n")
    with RestServer(Models(Version("leaks", 1, [(default, leaks)]))) as started:
        [found] = explain_rows.explain_file(f"http://{started.host}/leaks", str(tmp_path / "new.txt"))
    assert found.values.tolist() == [0, 1, 0, 1] and (found.score, found.base) == (2, 0)


def test_models_without_scores_are_refused(others, once, command, tmp_path):
    answer = command("explain", authors.NAME, "To be", "--folder", once("authors", authors.write))
    assert answer.status == 2 and "received a model that generates text" in answer.errors
    answer = command("explain", "images", "--input", tmp_path, "--folder", others)
    assert answer.status == 2 and "received a model of images" in answer.errors
    assert "tfattn attention images --image FILE" in answer.errors and answer.errors.count("error: ") == 1


def test_a_text_is_not_a_row_of_several_inputs(others, command):
    answer = command("explain", "linear", "12", "--folder", others)
    assert answer.status == 2 and "a file with age, income, rooms: --input FILE" in answer.errors


def test_python_returns_a_frame(exports):
    model = tfattn.load("tiny", folder=exports)
    found = model.explain([TEXT, "It leaks."], samples=3)
    assert found["row"].tolist() == [0] * 5 + [1] * 2 and found["words"][5:].tolist() == ["It", "leaks."]
    assert {"explained", "score", "base", "input", "contribution", "low", "high"} <= set(found)
    assert len(model.explain([])) == 0
    with pytest.raises(DataError, match="too many rows to explain: expected at most 100"):
        model.explain(["It leaks."] * 101)
