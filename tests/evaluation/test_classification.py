"""The report of a text classifier: metrics, errors and warnings."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from tfattn.evaluation import classification
from tfattn.evaluation.label_report import MAX_CHARACTERS, PredictedRows
from tfattn.trained.predictions import MemberPredictions

LABELS = ["Leak", "Mechanical Failure", "Software Failure"]
TRUE = np.array([0, 0, 1, 1, 1, 2])
SCORES = np.array(
    [
        [0.9, 0.05, 0.05],
        [0.2, 0.7, 0.1],  # wrong, at 0.7
        [0.01, 0.99, 0.0],
        [0.1, 0.6, 0.3],
        [0.96, 0.03, 0.01],  # wrong, at 0.96
        [0.4, 0.5, 0.1],  # wrong: Software Failure is never given
    ]
)
TEXTS = ["<b>Oil</b> drips", "It runs away", "A belt slips", "A gear knocks", "The coolant pump jams", "The menu hangs"]
ROWS = [
    {"row": f"reports.csv:{number + 2}", "text": text, "label": LABELS[TRUE[number]]}
    for number, text in enumerate(TEXTS)
]
HISTORY = [{"epoch": 1, "step": 3, "loss": 1.0, "validation_loss": 1.1, "validation_accuracy": 0.5}]
ENSEMBLE = SimpleNamespace(task=SimpleNamespace(model=None), labels=LABELS, calibrator=None)


@pytest.fixture(scope="module")
def run(tmp_path_factory, write, predictions):
    findings = study(predictions, split="validation")
    history = "".join(json.dumps(line) + "\n" for line in HISTORY)
    folder = write(tmp_path_factory.mktemp("run"), findings, split="validation", history=history)
    return folder, findings.metrics


def study(predictions, rows=ROWS, true=TRUE, scores=SCORES, **options):
    values = {"label_ids": scores.argmax(axis=1), "scores": scores}
    return classification.report(ENSEMBLE, predictions(rows, values, {"label_ids": true}, **options))


def _section(findings, title):
    return next(section for section in findings.sections if section.title == title)


def test_all_files_are_written(run):
    folder, metrics = run
    assert json.loads((folder / "metrics.json").read_text()) == metrics
    assert (
        metrics["log_loss"] == pytest.approx(-np.log(SCORES[np.arange(6), TRUE]).mean())
        and metrics["accuracy"] == 0.5
        and "f1/Leak" in metrics
    )
    pictures = {path.name for path in (folder / "plots").iterdir()}
    assert pictures == {"f1.svg", "confusion.svg", "calibration.svg", "training_1.svg", "training_2.svg"}


def test_predictions_keep_the_row_and_the_best_scores(run):
    folder, _ = run
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["row"] for line in lines] == [row["row"] for row in ROWS]
    assert lines[1]["predicted"] == "Mechanical Failure" and lines[1]["right"] is False
    assert list(lines[1]["scores"].items())[0] == ("Mechanical Failure", 0.7)


def test_the_report_has_the_metric_its_interval_and_the_baseline(run):
    page = (run[0] / "report.html").read_text(encoding="utf-8")
    assert "3 of 6 texts have the correct label." in page
    assert "18.8% to 81.2%" in page
    assert "always predicting “Mechanical Failure” has an accuracy of 50.0%." in page
    assert "&lt;b&gt;Oil&lt;/b&gt;" not in page  # it was answered rightly
    assert "name: tiny" in page and "float32: fast" in page


def test_a_run_without_history_and_summary_is_reported_too(tmp_path, write, predictions):
    folder = write(tmp_path, study(predictions, scores=np.eye(3)[TRUE]))
    assert "There are no errors." in (folder / "report.html").read_text(encoding="utf-8")


def test_errors_are_ranked_by_confidence(predictions):
    table = _section(study(predictions), "Most confident errors").parts[-1]
    assert [row[0] for row in table.rows] == ["The coolant pump jams", "It runs away", "The menu hangs"]
    assert table.rows[0][1:] == ["Mechanical Failure", "Leak", "96.0%", "6"]


def test_a_label_that_is_never_predicted_is_named(predictions):
    assert "It never predicts “Software Failure”." in study(predictions).headline.warnings


def test_the_confusion_matrix_lists_confusions(predictions):
    table = _section(study(predictions), "Confusion matrix").parts[-1]
    assert ["Leak", "Mechanical Failure", 1, "50.0%"] in table.rows
    assert ["Software Failure", "Mechanical Failure", 1, "100.0%"] in table.rows


def test_confident_predictions_are_counted(predictions):
    table = _section(study(predictions), "Confidence").parts[1]
    assert table.rows[2] == ["90%", 3, "50.0%", "66.7%"]


def test_pairs_and_long_texts_are_shortened():
    rows = [{"row": "a.tsv:1", "text_a": "one", "text_b": "two " * 200, "label": "Leak"}]
    predicted = PredictedRows(
        rows=rows, labels=LABELS, true=TRUE[:1], predicted_ids=TRUE[:1], scores=SCORES[:1], leaked=np.zeros(1, bool)
    )
    assert predicted.text(0).startswith("one | two") and len(predicted.text(0)) == MAX_CHARACTERS


@pytest.mark.parametrize("rows", [1, 2, 6])
@pytest.mark.parametrize("flat", [False, True], ids=["sure", "unsure"])
def test_few_rows_and_low_scores_have_no_empty_table_or_wrong_plural(tmp_path, rows, flat, write, predictions):
    scores = 0.33 + 0.02 * SCORES if flat else SCORES
    folder = write(tmp_path, study(predictions, ROWS[:rows], TRUE[:rows], scores[:rows]))
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<tbody>\s*</tbody>|<p></p>", page)
    assert not re.search(r"\b1 (texts|labels|mistakes|rows)\b|All 1 |[ (]-0[ %.]", re.sub("<[^>]*>", " ", page))
    assert ("No prediction has a score of 50% or more." in page) == flat


def test_leaked_rows_are_in_the_headline(tmp_path, write, predictions):
    findings = study(predictions, leaked={"reports.csv:2", "reports.csv:4", "elsewhere.csv:3"})
    page = (write(tmp_path, findings) / "report.html").read_text(encoding="utf-8")
    assert findings.metrics["leaked_rows"] == 2 and findings.metrics["accuracy_without_leaked"] == 0.25
    assert page.index("2 of the 6 test texts (33.3%) are also training rows") < page.index('<div class="figure">')


def test_each_member_is_shown(tmp_path, write, predictions):
    three = [
        MemberPredictions(f"seed {seed}", {"label_ids": ids, "scores": np.eye(3)[ids]}, {"label_ids": TRUE})
        for seed, ids in ((7, TRUE), (8, TRUE * 0), (9, SCORES.argmax(axis=1)))
    ]
    findings = study(predictions, members=three)
    folder, metrics = write(tmp_path, findings), findings.metrics
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert (metrics["accuracy_members_min"], metrics["accuracy_members_max"]) == (1 / 3, 1.0)
    assert "33.3% to 100.0%, mean 61.1%" in page and "Ensemble members" in page
    assert "seed 8" in (folder / "plots/members.svg").read_text(encoding="utf-8")
