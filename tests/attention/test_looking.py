"""Attention of exports, runs, servers and published models, and errors of invalid inputs."""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from benchmarks.serving.running import running
from tfattn.attention.looking import look
from tfattn.errors import DataError, ServingError
from tfattn.stages import open_run
from tfattn.trained.ensemble import load

REPORT = "Coolant is pooling underneath sorter."


@pytest.fixture(scope="module")
def inside(finished, request):
    """Enter the folder of the finished tiny pipeline."""
    patch = pytest.MonkeyPatch()
    patch.chdir(finished[0])
    yield finished[0]
    patch.undo()


@pytest.fixture(scope="module")
def exported(inside):
    return look("tiny", REPORT)


def test_attention_of_an_export_equals_that_of_the_trained_model(inside, exported):
    ensemble = load(open_run(Path("tiny.yaml"), None))
    features = ensemble.preprocessor({"text": tf.constant([REPORT])})
    tokens = {name: values.to_tensor() for name, values in features.items()}
    expected = np.asarray(ensemble.task.model.attention(tokens)["encoder"].weights)[0]
    np.testing.assert_allclose(exported.parts[0].weights, expected, atol=1e-5)
    answer = ensemble.predict([{"text": REPORT}])
    assert exported.attributions.scored == ensemble.labels[int(answer["label_ids"][0])]
    assert exported.attributions.score == pytest.approx(answer["scores"].max(), abs=1e-5)
    assert abs(exported.attributions.missing) < 0.05


def test_attention_of_a_run_is_the_same(inside, exported):
    views = look("runs/tiny/latest", REPORT)
    np.testing.assert_allclose(views.parts[0].weights, exported.parts[0].weights, atol=1e-5)
    np.testing.assert_allclose(views.attributions.values, exported.attributions.values, atol=1e-4)
    assert views.sequences == exported.sequences and views.title == exported.title


def test_attention_of_a_server_is_the_same(inside, exported):
    with running(inside / "saved_models", worker_threads=1) as server:
        views = look(f"{server.rest}/tiny", REPORT)
    np.testing.assert_allclose(views.parts[0].weights, exported.parts[0].weights, atol=1e-5)
    np.testing.assert_allclose(views.parts[0].queries, exported.parts[0].queries, atol=1e-4)
    assert views.sequences == exported.sequences and views.attributions.scored == exported.attributions.scored
    assert views.title == exported.title == "tiny"


def test_pieces_are_parts_of_words(exported):
    (tokens,) = exported.sequences
    shown = dict(zip(tokens.words, tokens.word_texts, strict=True))
    assert " ".join(list(shown.values())[1:-1]) == "coolant is pooling underneath sorter ."
    assert tokens.special == [True, *[False] * (len(tokens) - 2), True]


@pytest.mark.parametrize("name", ["attention.html", "attention.png", "attention.svg"])
def test_the_command_writes_a_page_or_a_picture(inside, command, tmp_path, name):
    answer = command("attention", "tiny", "--text", REPORT, "--output", tmp_path / name)
    assert answer.status == 0, answer.errors
    content = (tmp_path / name).read_bytes()
    assert content.startswith({".html": b"<!DOCTYPE html>", ".png": b"\x89PNG", ".svg": b"<svg"}[Path(name).suffix])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--text", " "], "the text is empty"),
        ([], "there is no text: expected a text: --text"),
        (["--text", "a", "--text-b", "b"], "--text-b"),
        (["--text", "a", "--target", "b"], "--target"),
        (["--text", "a", "--row", "{}"], "--row"),
        (["--text", "pump " * 40], "the text is longer than the model accepts"),
        (["--text", "a", "--output", "a.gif"], "unknown file format"),
        (["--text", "a", "--output", "a.html", "--layer", "1"], "a page shows all layers and heads"),
        (["--text", "a", "--output", "a.png", "--layer", "7"], "there is no such layer"),
    ],
)
def test_invalid_inputs_are_refused(inside, command, arguments, said):
    answer = command("attention", "tiny", *arguments)
    assert answer.status != 0 and said in answer.errors
    assert "Traceback" not in answer.errors


def test_a_missing_model_is_named(inside, command):
    answer = command("attention", "tinny", "--text", "a")
    assert answer.status == 1 and "Did you mean `tiny`" in answer.errors


def test_a_model_without_attention_lists_supported_models(inside, tmp_path):

    class Plain(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
        def serve(self, text):
            return {"text": text}

    tf.saved_model.save(plain := Plain(), str(tmp_path / "plain/1"), signatures={"serving_default": plain.serve})
    with pytest.raises(ServingError) as refused:
        look("plain", "a", folder=tmp_path)
    assert "the model has no attention signature" in str(refused.value) and "BERT" in str(refused.value)


def test_rows_of_a_table_are_json_or_csv(table_export):
    row = {"age": 30, "hours": 41.5, "work": "private"}
    views = look("rows", row=json.dumps(row), folder=table_export)
    assert views.sequences[0].names == ["[CLS]", "age", "hours", "work"]
    np.testing.assert_allclose(
        views.parts[0].weights, look("rows", row="30,41.5,private", folder=table_export).parts[0].weights
    )
    for wrong, said in [('{"age": 3}', "lacks columns"), ("1,2", "number of columns"), ("a,2,b", "is not a number")]:
        with pytest.raises(DataError, match=said):
            look("rows", row=wrong, folder=table_export)
    with pytest.raises(DataError, match="there is no row"):
        look("rows", folder=table_export)


@pytest.fixture
def table_export(tmp_path):
    """Return an export of a table of two numbers and a category."""

    kinds = {"age": tf.float32, "hours": tf.float32, "work": tf.string}
    specs = [tf.TensorSpec([None], kind, name=name) for name, kind in kinds.items()]

    class Rows(tf.Module):
        @tf.function(input_signature=specs, autograph=False)
        def attention(self, age, hours, work):
            tokens = tf.broadcast_to(tf.constant(["[CLS]", *kinds]), [tf.size(age), 4])
            numbers = tf.broadcast_to(tf.range(4), tf.shape(tokens))
            known = {"tokens": tokens, "word_texts": tokens, "words": numbers, "segments": 0 * numbers}
            return {**known, "is_special": numbers == 0, "encoder_weights": tf.fill([tf.size(age), 1, 1, 4, 4], 0.25)}

        @tf.function(input_signature=specs, autograph=False)
        def serve(self, age, hours, work):
            return {"prediction": age + hours, "work": work}

    rows = Rows()
    signatures = {"serving_default": rows.serve, "attention": rows.attention}
    tf.saved_model.save(rows, str(tmp_path / "rows/1"), signatures=signatures)
    return tmp_path
