"""The report of a table classifier: metrics as in scikit-learn, results.tsv, and escaped data."""

import csv
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, log_loss, recall_score, roc_auc_score

from tfattn.evaluation import table_classification
from tfattn.tasks.operating_point import OperatingPoint

COLUMNS = ["Reads", "Score", "Noise"]
LABELS = ["noise", "real", "unclear"]
DRAW = np.random.default_rng(0)
NUMBERS = DRAW.normal(size=(80, 3)).round(3)
THRESHOLD = 0.7


def ask(rows, tilt=0.0):
    numbers = np.array([[float(row[name]) for name in COLUMNS] for row in rows])
    real = 1 / (1 + np.exp(-3 * numbers[:, 0] - (1 + tilt) * numbers[:, 1]))
    return np.stack([1 - real, real], axis=1)


def ask_three(rows):
    two = ask(rows)
    return np.concatenate([0.8 * two, np.full((len(rows), 1), 0.2)], axis=1)


METRICS = {f"{name}{end}": 0.875 for name in ("sensitivity", "specificity") for end in ("", "_low", "_high")}
POINT = OperatingPoint(THRESHOLD, METRICS)


def reported(predictions, num_classes=2, positive=1, scores=(None,), operating_point=None, **changes):
    """What is reported on 80 rows, and the predictions that it says so of; a member for each function of scores."""
    noise = np.random.default_rng(1).normal(size=80)
    true = (3 * NUMBERS[:, 0] + NUMBERS[:, 1] + noise > 0).astype(int)
    if num_classes == 3:
        true[::7] = 2
    rows = [
        {
            "row": f"t.tsv:{number + 2}",
            "label": LABELS[true[number]],
            "Sample": f"<script>alert({number})</script>",
            "Locus": f"chr1:{number}",
            **dict(zip(COLUMNS, map(str, line), strict=True)),
        }
        for number, line in enumerate(NUMBERS)
    ]
    plain = ask if num_classes == 2 else ask_three
    found = plain(rows)
    ensemble = SimpleNamespace(
        labels=LABELS[:num_classes],
        operating_point=operating_point,
        calibrator=None,
        task=SimpleNamespace(positive_id=positive),
        preprocessor=SimpleNamespace(fields=COLUMNS),
        most_permuted_rows=None,
        predict_each=lambda some: [{"scores": (one or plain)(some)} for one in scores],
    )
    given = {"rows": rows, "values": {"scores": found, "label_ids": found.argmax(axis=1)}}
    predicted = predictions(**given | {"targets": {"label_ids": true}} | changes)
    return table_classification.report(ensemble, predicted), predicted


@pytest.fixture(scope="module")
def full(tmp_path_factory, write, predictions):
    """Two members, an operating point, essential features and attention."""
    real = reported(predictions)[1].values["scores"]
    values = {
        "scores": real,
        "label_ids": (real[:, 1] >= THRESHOLD).astype(int),
        "essential_features": NUMBERS[:, :2].astype("float32"),
        "column_attention": np.tile(np.array([0.5, 0.3, 0.2], "float32"), (80, 1)),
    }
    both = (ask, lambda rows: ask(rows, tilt=0.5))
    findings, given = reported(predictions, values=values, scores=both, operating_point=POINT)
    return write(tmp_path_factory.mktemp("run"), findings), given, findings.metrics


def _results(folder):
    with open(folder / "results.tsv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _page(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


def test_all_files_are_written(full):
    folder, _, metrics = full
    assert json.loads((folder / "metrics.json").read_text()) == metrics
    pictures = {path.stem for path in (folder / "plots").iterdir()}
    assert pictures == {"confusion", "roc", "precision_recall", "importance", "essential", "calibration"}


def test_metrics_equal_scikit_learn(full):
    _, given, metrics = full
    true, real, label_ids = given.targets["label_ids"], given.values["scores"][:, 1], given.values["label_ids"]
    assert metrics["sensitivity"] == pytest.approx(recall_score(true, label_ids))
    assert metrics["specificity"] == pytest.approx(recall_score(true, label_ids, pos_label=0))
    assert metrics["accuracy"] == pytest.approx(np.mean(true == label_ids))
    assert metrics["roc_auc"] == pytest.approx(roc_auc_score(true, real))
    assert metrics["average_precision"] == pytest.approx(average_precision_score(true, real))
    assert metrics["baseline_accuracy"] == pytest.approx(max(true.mean(), 1 - true.mean()))
    for name in ("accuracy", "sensitivity", "specificity", "roc_auc"):
        assert metrics[f"{name}_low"] <= metrics[name] <= metrics[f"{name}_high"]
    assert (
        metrics["log_loss"] == pytest.approx(log_loss(true, given.values["scores"]))
        and metrics["operating_threshold"] == THRESHOLD
    )


def test_importances_are_among_the_metrics(full):
    metrics = full[2]
    assert metrics["importance/Reads"] > metrics["importance/Score"] > metrics["importance/Noise"] == 0
    assert metrics["importance_low/Reads"] < metrics["importance/Reads"] < metrics["importance_high/Reads"]
    assert metrics["attention/Reads"] == pytest.approx(0.5)
    assert metrics["importance_agreement"] == pytest.approx(1.0)


def test_results_have_a_line_per_row(full):
    folder, given, _ = full
    lines = _results(folder)
    named = ["Sample", "Locus", "row", "target", "predicted", "right", "probability", "essential_1", "essential_2"]
    assert list(lines[0]) == named and len(lines) == len(given.rows)
    for line, row, number in zip(lines, given.rows, range(80), strict=True):
        assert all(line[name] == row[name] for name in ("Sample", "Locus", "row")) and line["target"] == row["label"]
        assert line["predicted"] == LABELS[given.values["label_ids"][number]]
        assert line["right"] == ("TRUE" if line["predicted"] == line["target"] else "FALSE")
        assert float(line["probability"]) == pytest.approx(given.values["scores"][number, 1], abs=1e-6)
        assert float(line["essential_2"]) == pytest.approx(NUMBERS[number, 1], rel=1e-5)


def test_an_identifier_with_a_tab_or_a_line_break_is_read_back(tmp_path, write, predictions):
    findings, given = reported(predictions)
    given.rows[5]["Sample"] = 'one\ttwo\n"three"'
    assert _results(write(tmp_path, findings))[5]["Sample"] == 'one\ttwo\n"three"'


def test_predictions_keep_the_row_and_the_explanations(full):
    folder, given, _ = full
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 80 and lines[3]["target"] == given.rows[3]["label"]
    assert {role: value for role, value in given.rows[3].items() if role != "label"}.items() <= lines[3].items()
    assert lines[3]["column_attention"] == {"Reads": 0.5, "Score": 0.3, "Noise": 0.2}
    assert lines[3]["essential_features"] == pytest.approx(list(NUMBERS[3, :2]), rel=1e-5)


def test_the_page_lists_errors_with_escaped_data(full):
    folder, given, _ = full
    page = _page(folder)
    wrong = np.flatnonzero(given.targets["label_ids"] != given.values["label_ids"])
    of_truth = given.values["scores"][wrong, given.targets["label_ids"][wrong]]
    assert f"&lt;script&gt;alert({wrong[of_truth.argmin()]})&lt;/script&gt;, chr1:" in page
    assert "<script" not in page


def test_the_page_explains_the_results(full):
    folder, given, metrics = full
    true, label_ids = given.targets["label_ids"], given.values["label_ids"]
    page = _page(folder)
    assert f"{np.sum(true & label_ids)} of {true.sum()} rows of the label “real” were found: a sensitivity" in page
    assert f"{np.sum(true == label_ids)} of 80 rows have the correct label" in page
    assert "if its score is at least 0.7." in page and "87.5%" in page
    assert "The 2 members of this ensemble" in page and "These are the means over 2 members" in page
    assert "texts" not in page


def test_a_single_model_without_explanations(tmp_path, write, predictions):
    findings, _ = reported(predictions)
    folder, metrics = write(tmp_path, findings), findings.metrics
    assert "importance_agreement" not in metrics and "operating_threshold" not in metrics
    assert not any(name.startswith("attention/") for name in metrics)
    assert not (folder / "plots" / "essential.svg").exists()
    assert "members" not in _page(folder) and "values of important columns" in _page(folder)
    assert list(_results(folder)[0])[-1] == "probability"


def test_three_labels_without_a_positive_one(tmp_path, write, predictions):
    findings, given = reported(predictions, num_classes=3, positive=None)
    folder, metrics = write(tmp_path, findings), findings.metrics
    true, label_ids = given.targets["label_ids"], given.values["label_ids"]
    assert metrics["macro_f1"] == pytest.approx(f1_score(true, label_ids, average="macro"))
    assert metrics["recall/unclear"] == 0 and "sensitivity" not in metrics and "roc_auc" not in metrics
    best = given.values["scores"].max(axis=1)
    assert [float(line["probability"]) for line in _results(folder)] == pytest.approx(list(best), abs=1e-6)
    assert not (folder / "plots" / "roc.svg").exists() and "drop of accuracy" in _page(folder)


def test_three_labels_with_a_positive_label(predictions):
    metrics = reported(predictions, num_classes=3, positive=2)[0].metrics
    assert metrics["sensitivity"] == 0 and metrics["specificity"] == 1
    assert metrics["roc_auc"] == pytest.approx(0.5)  # its score is always the same


def test_rows_of_one_class_have_no_curves(tmp_path, write, predictions):
    findings, _ = reported(predictions, targets={"label_ids": np.ones(80, int)})
    metrics = findings.metrics
    assert metrics["roc_auc"] == 0.5 and (metrics["roc_auc_low"], metrics["roc_auc_high"]) == (0, 1)
    assert not (write(tmp_path, findings) / "plots" / "roc.svg").exists()


def test_a_model_without_mistakes_and_rows_without_identifiers(tmp_path, write, predictions):
    given = reported(predictions)[1]
    rows = [{name: value for name, value in row.items() if name not in ("Sample", "Locus")} for row in given.rows]
    right, _ = reported(predictions, rows=rows, targets={"label_ids": given.values["label_ids"]})
    assert "There are no errors." in _page(write(tmp_path, right))
    page = _page(write(tmp_path, reported(predictions, rows=rows)[0]))
    assert re.search(r"<th[^>]*>line</th>", page) and "t.tsv:" not in page  # all rows are of this file
    rows = [row | {"row": f"{number % 2}.tsv:{number}"} for number, row in enumerate(rows)]
    page = _page(write(tmp_path, reported(predictions, rows=rows)[0]))
    assert re.search(r"<th[^>]*>row</th>", page) and "1.tsv:" in page


def test_columns_that_make_no_difference_are_not_called_important(tmp_path, write, predictions):
    def blind(rows):
        return np.tile([0.5, 0.5], (len(rows), 1))

    values = {"scores": blind(NUMBERS), "label_ids": np.zeros(80, int)}
    page = _page(write(tmp_path, reported(predictions, values=values, scores=[blind])[0]))
    assert "No single column is important beyond chance." in page
    assert "values of important columns" not in page and "It never predicts “real”." in page
    assert not re.search(r"(\d[.\d]*) to \1[^\d.]|[ (]-0[ %.]", re.sub("<[^>]*>", " ", page))


def test_important_columns_are_named(full):
    assert "Important beyond chance: “Reads” and “Score”." in _page(full[0])
