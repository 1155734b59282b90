"""The card describes inputs, outputs and metrics of an export."""

import json
import math
import re
import shlex

import pytest
import tensorflow as tf

from tfattn import files
from tfattn.export import card
from tfattn.export.row_tasks import Classifier
from tfattn.serving.page import card as serving_card
from tfattn.trained.ensemble import TrainedEnsemble

LABELS = ["Leak", "Électronique", "机械"]
METRICS = {"loss": 1.0, "accuracy": 0.9, "accuracy_low": 0.8, "accuracy_high": 0.95, "f1/Leak": 0.5}


@pytest.fixture
def write(tmp_path):
    """Writes a card and reads it as the server does."""

    def write(served, rows, **options):
        options = {"columns": {}, "metrics": METRICS, "measured_on": "test"} | options
        card.write(tmp_path, served, rows=rows, **options)
        return serving_card.read(tmp_path)

    return write


def test_an_export_has_a_card_that_the_server_reads(exported):
    found = serving_card.read(exported)
    assert found.inputs["text"].kind == "text" and found.inputs["text"].column == "Description"
    assert found.inputs["text"].max_tokens == 16
    assert found.entries == {"scores": LABELS}


def test_the_metrics_are_those_of_the_task_with_intervals(served, rows, write):
    found = write(served, rows)
    assert found.metrics == {"accuracy": 0.9, "accuracy_low": 0.8, "accuracy_high": 0.95}
    assert found.measured_on == "test"


def test_examples_are_readable_rows(served, rows, write):
    texts = [row["text"] for row in rows]
    long, blank = {"text": "x" * (card.MAX_CHARACTERS + 1)}, {"text": " "}
    found = write(served, [long, *rows, blank, *rows])
    assert [example["text"] for example in found.examples] == list(dict.fromkeys(e["text"] for e in found.examples))
    assert {example["text"] for example in found.examples} <= set(texts)
    assert write(served, [long, blank]).examples == []


def test_a_table_card_has_missing_values_ranges_and_categories(table_members, table_rows, write):
    served = Classifier(TrainedEnsemble(table_members))
    found = write(served, table_rows, columns={"age": "年龄"})
    assert list(found.inputs) == ["age", "hours-per-week", "Score.BG", "work_class"]
    age, hours, score, work = found.inputs.values()
    assert (age.kind, age.column, age.may_be_missing) == ("number", "年龄", False)
    assert (age.low, age.high) == (20, 400)  # of all members together
    assert hours.may_be_missing
    assert score.high == 5000  # the cap, which some rows reach
    assert (work.kind, work.values, work.no_value) == ("category", ["Straße", "private"], "")
    assert found.entries["column_attention"] == list(found.inputs)
    assert found.positive == "real" and found.threshold is None
    sent = served.request(table_rows)
    for example in found.examples:
        assert any(
            all(
                value == sent[name][row] or (value is None and math.isnan(sent[name][row]))
                for name, value in example.items()
            )
            for row in range(len(table_rows))
        )


def test_too_many_categories_are_not_listed(table_members, write, table_rows, monkeypatch):
    monkeypatch.setattr("tfattn.export.table_inputs.MAX_VALUES", 1)
    served = Classifier(TrainedEnsemble(table_members))
    assert write(served, table_rows).inputs["work_class"].values is None


@pytest.mark.parametrize(("export", "model"), [("exported", "loaded"), ("exported_table", "loaded_table")])
def test_the_model_card_asks_the_model_for_a_row(export, model, request):
    folder, serve = request.getfixturevalue(export), request.getfixturevalue(model).signatures["serving_default"]
    files.verify(folder, "README.md")
    text = (folder / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall("^curl.*$", text, flags=re.MULTILINE)
    (instance,) = json.loads(shlex.split(line)[2])["instances"]
    row = instance if isinstance(instance, dict) else {"text": instance}
    answer = serve(**{name: tf.constant([value]) for name, value in row.items()})
    assert answer["label"].numpy()[0].decode() in (*LABELS, "noise", "real")
    assert "compared with the trained model in a fresh process: rows" in text
