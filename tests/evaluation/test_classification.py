import json
import re

import numpy as np
import pytest

from tfattn import files
from tfattn.evaluation import classification
from tfattn.evaluation.evaluate import Evaluated, Member

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
NO_ROWS = {"splits": {}, "features": {}, "preprocessing": {}, "sources": {}, "seed": 0}  # of a prepared folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder, prepared = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("prepared")
    files.write_manifest(prepared, labels=LABELS, **NO_ROWS)
    history = [{"epoch": 1, "step": 3, "loss": 1.0, "validation_loss": 1.1, "validation_accuracy": 0.5}]
    files.write_text(folder / "history.jsonl", "".join(json.dumps(line) + "\n" for line in history))
    metrics = classification.report(
        folder,
        Evaluated(
            name="factory_reports",
            split="validation",
            prepared=prepared,
            configuration="name: factory_reports\n",
            rows=ROWS,
            answers={"label_ids": SCORES.argmax(axis=1), "scores": SCORES},
            targets={"label_ids": TRUE},
            loss=0.75,
        ),
    )
    return folder, metrics


def _study(split="test", scores=SCORES):
    answers = classification.Answers(ROWS, LABELS, TRUE, scores.argmax(axis=1), scores)
    return classification.study(answers, split=split, loss=0.5)


def _section(findings, title):
    return next(section for section in findings.sections if section.title == title)


def test_everything_is_written(run):
    folder, metrics = run
    assert json.loads((folder / "metrics.json").read_text()) == metrics
    assert metrics["loss"] == 0.75 and metrics["accuracy"] == 0.5 and "f1/Leak" in metrics
    pictures = {path.name for path in (folder / "plots").iterdir()}
    assert pictures == {"f1.svg", "confusion.svg", "calibration.svg", "training_1.svg", "training_2.svg"}


def test_predictions_keep_the_row_and_the_best_scores(run):
    folder, _ = run
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["row"] for line in lines] == [row["row"] for row in ROWS]
    assert lines[1]["predicted"] == "Mechanical Failure" and lines[1]["right"] is False
    assert list(lines[1]["scores"].items())[0] == ("Mechanical Failure", 0.7)


def test_the_report_says_the_figure_its_interval_and_the_baseline(run):
    page = (run[0] / "report.html").read_text(encoding="utf-8")
    assert "3 of 6 texts got the right label." in page
    assert "between 18.8% and 81.2%" in page
    assert "Always answering “Mechanical Failure” would be right for 50.0%." in page
    assert "&lt;b&gt;Oil&lt;/b&gt;" not in page  # it was answered rightly
    assert "name: factory_reports" in page


def test_a_run_without_history_and_summary_is_reported_too(tmp_path):
    files.write_manifest(tmp_path, labels=LABELS, **NO_ROWS)
    classification.report(
        tmp_path,
        Evaluated(
            name="plain",
            split="test",
            prepared=tmp_path,
            configuration="",
            rows=ROWS,
            answers={"label_ids": TRUE, "scores": np.eye(3)[TRUE]},
            targets={"label_ids": TRUE},
            loss=0.0,
        ),
    )
    assert "There are none: every text got the right label." in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_mistakes_are_ranked_by_how_certain_they_were():
    table = _section(_study(), "The worst mistakes").parts[-1]
    assert [row[0] for row in table.rows] == ["The coolant pump jams", "It runs away", "The menu hangs"]
    assert table.rows[0][1:] == ["Mechanical Failure", "Leak", "96.0%", "6"]


def test_a_label_that_is_never_given_is_named():
    assert "It never answers “Software Failure”." in _study().headline.doubts


def test_what_is_taken_for_what():
    table = _section(_study(), "What is taken for what").parts[-1]
    assert ["Leak", "Mechanical Failure", 1, "50.0%"] in table.rows
    assert ["Software Failure", "Mechanical Failure", 1, "100.0%"] in table.rows


def test_when_it_is_sure():
    table = _section(_study(), "When it is sure").parts[1]
    assert table.rows[2] == ["90%", 3, "50.0%", "66.7%"]


def test_paired_and_long_texts_are_shown_short():
    rows = [{"row": "a.tsv:1", "text_a": "one", "text_b": "two " * 200, "label": "Leak"}]
    answers = classification.Answers(rows, LABELS, TRUE[:1], TRUE[:1], SCORES[:1])
    assert answers.text(0).startswith("one | two") and len(answers.text(0)) == classification.MOST_CHARACTERS


def _page(folder, rows, true, scores, **more):
    files.write_manifest(folder, labels=LABELS, **NO_ROWS)
    answers = {"label_ids": scores.argmax(axis=1), "scores": scores}
    given = {"name": "plain", "split": "test", "prepared": folder, "configuration": "", "loss": 0.5}
    metrics = classification.report(
        folder, Evaluated(**given, rows=rows, answers=answers, targets={"label_ids": true}, **more)
    )
    return metrics, (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("rows", [1, 2, 6])
@pytest.mark.parametrize("flat", [False, True], ids=["sure", "unsure"])
def test_few_rows_and_low_scores_leave_no_empty_table_and_no_false_plural(tmp_path, rows, flat):
    scores = 0.33 + 0.02 * SCORES if flat else SCORES
    _, page = _page(tmp_path, ROWS[:rows], TRUE[:rows], scores[:rows])
    assert not re.search(r"<tbody>\s*</tbody>|<p></p>", page)
    assert not re.search(r"\b1 (texts|labels|mistakes|rows)\b|All 1 |[ (]-0[ %.]", re.sub("<[^>]*>", " ", page))
    assert ("Every answer has a score; none is 50% or more." in page) == flat


def test_rows_that_training_repeats_stand_in_the_headline(tmp_path):
    metrics, page = _page(tmp_path, ROWS, TRUE, SCORES, leaked={"reports.csv:2", "reports.csv:4", "elsewhere.csv:3"})
    assert metrics["leaked_rows"] == 2 and metrics["accuracy_without_leaked"] == 0.25
    assert page.index("2 of the 6 test texts (33.3%) stand among the training rows too") < page.index(
        '<div class="figure">'
    )


def test_several_models_are_shown_one_by_one(tmp_path):
    three = [
        Member(f"seed {seed}", {"label_ids": ids, "scores": np.eye(3)[ids]}, {"label_ids": TRUE})
        for seed, ids in ((7, TRUE), (8, TRUE * 0), (9, SCORES.argmax(axis=1)))
    ]
    metrics, page = _page(tmp_path, ROWS, TRUE, SCORES, members=three)
    assert (metrics["accuracy_members_min"], metrics["accuracy_members_max"]) == (1 / 3, 1.0)
    assert "33.3% to 100.0%, mean 61.1%" in page and "How far the models differ" in page
    assert "seed 8" in (tmp_path / "plots/members.svg").read_text(encoding="utf-8")
