"""The report of multi-label classification: texts and tables, one model and several."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score

from tfattn.evaluation import multi_label
from tfattn.trained.predictions import MemberPredictions

DRAW = np.random.default_rng(0)
LABELS = ["leak", "noise", "<i>rare</i>"]
NUMBERS = DRAW.normal(size=(60, 2))
TRUE = np.stack([NUMBERS[:, 0] > 0, NUMBERS[:, 1] > 0.5, np.arange(60) % 20 == 0], axis=1)


def ask(rows):
    numbers = np.array([[float(row["a"]), float(row["b"]) - 0.5] for row in rows])
    scores = 1 / (1 + np.exp(-2 * numbers))
    return np.concatenate([scores, np.full((len(rows), 1), 0.1)], axis=1).astype("float32")


ROWS = [{"row": f"t.csv:{n}", "labels": "", "a": str(a), "b": str(b)} for n, (a, b) in enumerate(NUMBERS, start=2)]
TEXTS = [{"row": row["row"], "labels": ["leak"], "text": f"text {row['a']}"} for row in ROWS]


def reported(predictions, rows, *, scores=None, members=(), **options):
    fields = ("text",) if "text" in rows[0] else ("a", "b")
    some = SimpleNamespace(
        labels=LABELS,
        operating_point=None,
        calibrator=None,
        preprocessor=SimpleNamespace(fields=fields, reads_columns=fields != ("text",)),
        most_permuted_rows=None,
        predict_each=lambda rows: [{"scores": ask(rows)}] * max(1, len(members)),
    )
    scores = ask(ROWS) if scores is None else scores
    values = {"scores": scores, "is_label": scores >= 0.5}
    given = predictions(rows, values, {"label_indicators": TRUE.astype(int)}, members=members, **options)
    return multi_label.report(some, given)


def test_the_report_of_a_table_has_metrics_plots_and_importance(tmp_path, write, predictions):
    scores = ask(ROWS)
    values = {"scores": scores, "is_label": scores >= 0.5}
    members = [MemberPredictions(f"seed {n}", values, {"label_indicators": TRUE.astype(int)}) for n in (1, 2)]
    findings = reported(predictions, ROWS, members=members)
    metrics = findings.metrics
    assert metrics["micro_f1"] == pytest.approx(f1_score(TRUE, scores >= 0.5, average="micro"))
    assert metrics["macro_average_precision"] == pytest.approx(average_precision_score(TRUE, scores, average="macro"))
    assert metrics["support/leak"] == TRUE[:, 0].sum() and metrics["f1/leak"] == 1.0
    assert metrics["subset_accuracy_members_min"] == metrics["subset_accuracy"]
    assert metrics["importance/a"] > 0.1
    folder = write(tmp_path / "run", findings)
    assert "<i>rare</i>" not in (folder / "report.html").read_text()
    line = json.loads((folder / "predictions.jsonl").read_text().splitlines()[0])
    assert line["predicted"] == [label for label, own in zip(LABELS, scores[0], strict=True) if own >= 0.5]
    assert line["target"] == [label for label, own in zip(LABELS, TRUE[0], strict=True) if own] and "labels" not in line
    assert line["right"] == bool((TRUE[0] == (scores[0] >= 0.5)).all())


def test_errors_list_missed_and_wrong_labels(predictions):
    table = reported(predictions, TEXTS).sections[-1].parts[-1]
    assert table.columns == ["text", "missed", "wrong", "line"]
    assert len(table.rows) == 3 and {row[1] for row in table.rows} == {"<i>rare</i>"}  # which it never gives


def test_weak_models_and_never_predicted_labels_have_warnings(predictions):
    warnings = reported(predictions, TEXTS, scores=np.full((60, 3), 0.1, "float32")).headline.warnings
    assert "is not better than always predicting the most frequent labels" in warnings[0]
    assert warnings[1].startswith("It never predicts “leak”, “noise” or “<i>rare</i>”")
    assert len(reported(predictions, TEXTS).headline.warnings) == 1
