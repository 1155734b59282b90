"""The report of regression: texts and tables, one model and several."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from tfattn import files
from tfattn.evaluation import regression
from tfattn.trained.predictions import MemberPredictions

DRAW = np.random.default_rng(0)
NUMBERS = DRAW.normal(size=(60, 2))
TRUE = (40 + 8 * NUMBERS[:, 0] + DRAW.normal(size=60)).astype("float32")


def of_table(rows):
    return np.array([40 + 8 * float(row["big"]) for row in rows], "float32")


ROWS = [
    {"row": f"t.csv:{n}", "target": str(true), "id": f"<b>{n}</b>", "big": str(big), "none": str(none)}
    for n, (true, (big, none)) in enumerate(zip(TRUE, NUMBERS, strict=True), start=2)
]
TEXTS = [{"row": row["row"], "target": row["target"], "text": f"text {row['id']}"} for row in ROWS]


def ensemble(fields, *, reads_columns, members=1):
    return SimpleNamespace(
        task=SimpleNamespace(mean=40.0, deviation=8.0),
        calibrator=None,
        preprocessor=SimpleNamespace(fields=fields, reads_columns=reads_columns),
        most_permuted_rows=None,
        predict_each=lambda rows: [{"predictions": of_table(rows)}] * members,
    )


def reported(predictions, rows, found, **options):
    fields = ("text",) if "text" in rows[0] else ("big", "none")
    members = options.get("members", ())
    some = ensemble(fields, reads_columns=fields != ("text",), members=max(1, len(members)))
    values, targets = {"predictions": found.astype("float32")}, {"target_values": TRUE}
    return regression.report(some, predictions(rows, values, targets, **options))


def test_the_report_of_a_table_has_metrics_plots_and_importance(tmp_path, write, predictions):
    found = of_table(ROWS)
    members = [MemberPredictions(f"seed {n}", {"predictions": found + n}, {"target_values": TRUE}) for n in (0, 1)]
    findings = reported(predictions, ROWS, found, members=members)
    metrics = findings.metrics
    assert metrics["mean_absolute_error"] == pytest.approx(np.abs(found - TRUE).mean(), rel=1e-5)
    assert metrics["mean_absolute_error_low"] < metrics["mean_absolute_error"] < metrics["mean_absolute_error_high"]
    assert metrics["mean_absolute_error_members_max"] > metrics["mean_absolute_error_members_min"]
    assert metrics["importance/big"] > 1 > metrics["importance/none"] == 0
    assert metrics["baseline_mean_absolute_error"] == pytest.approx(np.abs(TRUE - 40).mean(), rel=1e-5)
    folder = write(tmp_path / "run", findings)
    page = (folder / "report.html").read_text()
    assert {path.stem for path in (folder / "plots").iterdir()} >= {"predicted", "residuals", "importance", "members"}
    assert "always predicting 40, the mean target" in page and "<b>2</b>" not in page
    first = json.loads((folder / "predictions.jsonl").read_text().splitlines()[0])
    assert first["prediction"] - float(first["target"]) == pytest.approx(first["error"], abs=1e-3)
    assert files.read_json(folder / "metrics.json").keys() == metrics.keys()


def test_texts_are_listed_by_their_largest_errors(tmp_path, write, predictions):
    found = TRUE + np.where(np.arange(60) == 7, 30, 1)
    findings = reported(predictions, TEXTS, found)
    table = findings.sections[-1].parts[-1]
    assert table.columns == ["text", "true", "predicted", "error", "line"]
    assert table.rows[0][0] == TEXTS[7]["text"] and table.rows[0][3] == pytest.approx(30, abs=1e-4)
    assert not any(name.startswith("importance") for name in findings.metrics)
    write(tmp_path / "run", findings)


def test_weak_models_and_leaked_rows_have_warnings(predictions):
    findings = reported(predictions, TEXTS, np.full(60, 40.0) + DRAW.normal(size=60), leaked=["t.csv:2"])
    no_better, leaked = findings.headline.warnings
    assert no_better.startswith("The model is ") and "than always predicting 40, which has a mean error of" in no_better
    assert leaked.startswith("1 of the 60 test texts") and "a mean error of" in leaked
