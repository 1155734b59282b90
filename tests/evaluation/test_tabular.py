"""The report on rows of a table: figures as scikit-learn has them, a line of results per row, a page that is safe."""

import csv
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, recall_score, roc_auc_score

from tfattn import files
from tfattn.evaluation import tabular
from tfattn.evaluation.evaluate import Evaluated

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


NO_ROWS = {"splits": {}, "features": {}, "preprocessing": {}, "sources": {}, "seed": 0}  # of a prepared folder


def evaluated(folder, num_classes=2, positive=1, **changes):
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
    scores = (ask if num_classes == 2 else ask_three)(rows)
    with files.atomic_folder(folder / "prepared", labels=LABELS[:num_classes], **NO_ROWS):
        pass
    return Evaluated(
        **{
            "name": "variants",
            "split": "test",
            "prepared": folder / "prepared",
            "configuration": "name: variants\n",
            "rows": rows,
            "answers": {"scores": scores, "label_ids": scores.argmax(axis=1)},
            "targets": {"label_ids": true},
            "loss": 0.25,
            "task": SimpleNamespace(positive_id=positive),
            "columns": COLUMNS,
            "asks": [ask if num_classes == 2 else ask_three],
        }
        | changes
    )


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Two members, an operating point, essential features and attention."""
    folder = tmp_path_factory.mktemp("run")
    plain = evaluated(folder)
    real = plain.answers["scores"][:, 1]
    answers = {
        "scores": plain.answers["scores"],
        "label_ids": (real >= THRESHOLD).astype(int),
        "essential_features": NUMBERS[:, :2].astype("float32"),
        "column_attention": np.tile(np.array([0.5, 0.3, 0.2], "float32"), (80, 1)),
    }
    figures = {f"{name}{end}": 0.875 for name in ("sensitivity", "specificity") for end in ("", "_low", "_high")}
    given = evaluated(
        folder,
        answers=answers,
        asks=[ask, lambda rows: ask(rows, tilt=0.5)],
        decisions={"threshold": THRESHOLD, "figures": figures},
    )
    return folder, given, tabular.report(folder, given)


def _results(folder):
    with open(folder / "results.tsv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _page(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


def test_everything_is_written(full):
    folder, _, metrics = full
    assert json.loads((folder / "metrics.json").read_text()) == metrics
    pictures = {path.stem for path in (folder / "plots").iterdir()}
    assert pictures == {"confusion", "roc", "precision_recall", "importance", "essential", "calibration"}


def test_figures_are_those_of_scikit_learn(full):
    _, given, metrics = full
    true, real, label_ids = given.targets["label_ids"], given.answers["scores"][:, 1], given.answers["label_ids"]
    assert metrics["sensitivity"] == pytest.approx(recall_score(true, label_ids))
    assert metrics["specificity"] == pytest.approx(recall_score(true, label_ids, pos_label=0))
    assert metrics["accuracy"] == pytest.approx(np.mean(true == label_ids))
    assert metrics["roc_auc"] == pytest.approx(roc_auc_score(true, real))
    assert metrics["average_precision"] == pytest.approx(average_precision_score(true, real))
    assert metrics["baseline_accuracy"] == pytest.approx(max(true.mean(), 1 - true.mean()))
    for name in ("accuracy", "sensitivity", "specificity", "roc_auc"):
        assert metrics[f"{name}_low"] <= metrics[name] <= metrics[f"{name}_high"]
    assert metrics["loss"] == 0.25 and metrics["operating_threshold"] == THRESHOLD


def test_importances_are_among_the_metrics(full):
    metrics = full[2]
    assert metrics["importance/Reads"] > metrics["importance/Score"] > metrics["importance/Noise"] == 0
    assert metrics["importance_low/Reads"] < metrics["importance/Reads"] < metrics["importance_high/Reads"]
    assert metrics["attention/Reads"] == pytest.approx(0.5)
    assert metrics["importance_agreement"] == pytest.approx(1.0)


def test_results_have_a_line_per_row(full):
    folder, given, _ = full
    lines = _results(folder)
    named = ["Sample", "Locus", "row", "label", "predicted", "right", "probability", "essential_1", "essential_2"]
    assert list(lines[0]) == named and len(lines) == len(given.rows)
    for line, row, number in zip(lines, given.rows, range(80), strict=True):
        assert all(line[name] == row[name] for name in ("Sample", "Locus", "row", "label"))
        assert line["predicted"] == LABELS[given.answers["label_ids"][number]]
        assert line["right"] == ("TRUE" if line["predicted"] == line["label"] else "FALSE")
        assert float(line["probability"]) == pytest.approx(given.answers["scores"][number, 1], abs=1e-6)
        assert float(line["essential_2"]) == pytest.approx(NUMBERS[number, 1], rel=1e-5)


def test_an_identifier_with_a_tab_or_a_line_break_is_read_back(tmp_path):
    given = evaluated(tmp_path)
    given.rows[5]["Sample"] = 'one\ttwo\n"three"'
    tabular.report(tmp_path, given)
    assert _results(tmp_path)[5]["Sample"] == 'one\ttwo\n"three"'


def test_predictions_keep_the_row_and_the_explanations(full):
    folder, given, _ = full
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 80 and given.rows[3].items() <= lines[3].items()
    assert lines[3]["column_attention"] == {"Reads": 0.5, "Score": 0.3, "Noise": 0.2}
    assert lines[3]["essential_features"] == pytest.approx(list(NUMBERS[3, :2]), rel=1e-5)


def test_the_page_names_mistakes_and_nothing_of_the_data_becomes_a_part_of_it(full):
    folder, given, _ = full
    page = _page(folder)
    wrong = np.flatnonzero(given.targets["label_ids"] != given.answers["label_ids"])
    of_truth = given.answers["scores"][wrong, given.targets["label_ids"][wrong]]
    assert f"&lt;script&gt;alert({wrong[of_truth.argmin()]})&lt;/script&gt;, chr1:" in page
    assert "<script" not in page


def test_the_page_says_in_words_what_was_found(full):
    folder, given, metrics = full
    true, label_ids = given.targets["label_ids"], given.answers["label_ids"]
    page = _page(folder)
    assert f"{np.sum(true & label_ids)} of {true.sum()} rows of the label “real” found: a sensitivity" in page
    assert f"{np.sum(true == label_ids)} of 80 rows got the right label" in page
    assert "where its score reaches 0.7." in page and "87.5%" in page
    assert "The 2 members of this ensemble" in page and "these are their means" in page
    assert "texts" not in page


def test_a_single_model_that_explains_nothing(tmp_path):
    metrics = tabular.report(tmp_path, evaluated(tmp_path))
    assert "importance_agreement" not in metrics and "operating_threshold" not in metrics
    assert not any(name.startswith("attention/") for name in metrics)
    assert not (tmp_path / "plots" / "essential.svg").exists()
    assert "members" not in _page(tmp_path) and "its values where the model relies most" in _page(tmp_path)
    assert list(_results(tmp_path)[0])[-1] == "probability"


def test_three_labels_without_a_positive_one(tmp_path):
    given = evaluated(tmp_path, num_classes=3, positive=None)
    metrics = tabular.report(tmp_path, given)
    true, label_ids = given.targets["label_ids"], given.answers["label_ids"]
    assert metrics["macro_f1"] == pytest.approx(f1_score(true, label_ids, average="macro"))
    assert metrics["recall/unclear"] == 0 and "sensitivity" not in metrics and "roc_auc" not in metrics
    best = given.answers["scores"].max(axis=1)
    assert [float(line["probability"]) for line in _results(tmp_path)] == pytest.approx(list(best), abs=1e-6)
    assert not (tmp_path / "plots" / "roc.svg").exists() and "drop of accuracy" in _page(tmp_path)


def test_three_labels_of_which_one_is_looked_for(tmp_path):
    given = evaluated(tmp_path, num_classes=3, positive=2)
    metrics = tabular.report(tmp_path, given)
    assert metrics["sensitivity"] == 0 and metrics["specificity"] == 1
    assert metrics["roc_auc"] == pytest.approx(0.5)  # its score is always the same


def test_rows_of_one_kind_have_no_curves(tmp_path):
    given = evaluated(tmp_path, targets={"label_ids": np.ones(80, int)})
    metrics = tabular.report(tmp_path, given)
    assert metrics["roc_auc"] == 0.5 and (metrics["roc_auc_low"], metrics["roc_auc_high"]) == (0, 1)
    assert not (tmp_path / "plots" / "roc.svg").exists()


def test_a_model_without_mistakes_and_rows_without_identifiers(tmp_path):
    given = evaluated(tmp_path)
    rows = [{name: value for name, value in row.items() if name not in ("Sample", "Locus")} for row in given.rows]
    right = evaluated(tmp_path, rows=rows, targets={"label_ids": given.answers["label_ids"]})
    tabular.report(tmp_path, right)
    assert "There are none: every row got the right label." in _page(tmp_path)
    tabular.report(tmp_path, evaluated(tmp_path, rows=rows))
    assert "t.tsv:" in _page(tmp_path)


def test_validation_rows_are_not_called_unseen(tmp_path):
    point = {
        "threshold": 0.5,
        "figures": dict.fromkeys(
            [f"{name}{end}" for name in ("sensitivity", "specificity") for end in ("", "_low", "_high")], 0.9
        ),
    }
    tabular.report(tmp_path, evaluated(tmp_path, split="validation", decisions=point))
    assert "they chose which epoch to keep and the threshold" in _page(tmp_path)


def test_columns_that_make_no_difference_are_not_called_relied_on(tmp_path):
    def blind(rows):
        return np.tile([0.5, 0.5], (len(rows), 1))

    plain = evaluated(tmp_path)
    answers = {"scores": blind(plain.rows), "label_ids": np.zeros(80, int)}
    tabular.report(tmp_path, evaluated(tmp_path, answers=answers, asks=[blind]))
    page = _page(tmp_path)
    assert "Of no single column can it be said beyond chance that the model relies on it." in page
    assert "where the model relies most" not in page and "It never answers “real”." in page
    assert not re.search(r"(\d[.\d]*) to \1[^\d.]|[ (]-0[ %.]", re.sub("<[^>]*>", " ", page))


def test_columns_that_are_relied_on_are_named(full):
    assert "Beyond chance, the model relies on “Reads” and “Score”." in _page(full[0])
