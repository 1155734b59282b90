"""The evaluation of a classifier of table rows: what it finds, what it misses, and which columns it relies on."""

import csv
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console, files
from tfattn.data.prepare import read_facts
from tfattn.evaluation import doubts, evaluate, importance, members, metrics, tabular_sections
from tfattn.evaluation.evaluate import Evaluated, Member
from tfattn.evaluation.importance import Ask
from tfattn.evaluation.tabular_sections import ROW, Answers
from tfattn.evaluation.wording import count
from tfattn.features import COLUMN_ATTENTION, ESSENTIAL_FEATURES, LABEL, LABEL_IDS

RESULTS = "results.tsv"
SEED = 0  # of the shuffled columns: one evaluation of one model always says the same
KEPT_SCORES = 5


def report(folder: str | Path, evaluated: Evaluated) -> dict[str, float]:
    """Measures answers for rows of a table; writes metrics, predictions, results, plots and the report of a run.

    `results.tsv` holds a line per row: its identifiers, `row`, `label`, `predicted`, `right` (TRUE or FALSE),
    `probability` (of the positive label; of the given one, if none is positive), and `essential_1` to `essential_E` of
    a model that has them.

    Args:
        folder: the run's; evaluate.write says what is read and written there.
        evaluated: what was answered. `rows` are as `Answers` takes them; `answers` are `label_ids` (N,) and `scores`
            (N, C), and maybe `essential_features` (N, E) and `column_attention` (N, K); `task` has the `positive_id`;
            `decisions` may hold an operating point: its `threshold`, which the given labels follow, and the `figures`
            of the rows that it was chosen on; `columns` are in the model's order, and `asks` has one function at least.

    Returns:
        the metrics by flat names: `loss`, those of metrics.classification, `calibration_error`, with a positive label
        those of metrics.detection, with an operating point `operating_threshold`; those of doubts.accuracy_without;
        `importance/COLUMN` with `importance_low/COLUMN` and `importance_high/COLUMN`, and maybe `attention/COLUMN`; of
        several members `importance_agreement`, their rank correlation, and those of members.measured.
    """
    rows, columns, answers = evaluated.rows, evaluated.columns, evaluated.answers
    labels = read_facts(evaluated.prepared)["labels"]
    found = Answers(
        rows,
        columns,
        labels,
        evaluated.task.positive_id,
        true=evaluated.targets[LABEL_IDS],
        given=answers[LABEL_IDS],
        scores=answers["scores"],
        essential=answers.get(ESSENTIAL_FEATURES),
        attention=answers.get(COLUMN_ATTENTION),
        leaked=evaluated.is_leaked,
    )
    findings = study(
        found,
        split=evaluated.split,
        loss=evaluated.loss,
        asks=evaluated.asks,
        operating_point=evaluated.decisions or None,
        models=evaluated.members,
    )
    evaluate.write(
        findings,
        folder,
        evaluated,
        title=f"{evaluated.name}: which label does a row get?",
        subtitle=f"{count(len(rows), f'{evaluated.split} row')}, {count(len(columns), 'column')}, "
        f"{count(len(labels), 'label')}, evaluated on {datetime.now():%d %B %Y at %H:%M}",
    )
    _write_results(found, Path(folder) / RESULTS)
    _say(findings.metrics, columns)
    return findings.metrics


def study(
    answers: Answers,
    *,
    split: str,
    loss: float,
    asks: Sequence[Ask],
    operating_point: dict[str, Any] | None = None,
    models: Sequence[Member] = (),
) -> evaluate.Findings:
    """What there is to say about answers for rows of a table.

    Args:
        answers: what was answered.
        split: which rows those are.
        loss: the mean loss over them.
        asks: for each model, a function from raw rows to scores (N, C); the answers are their means.
        operating_point: `threshold` and `figures`, where one was chosen.
        models: what each of several models answered alone.
    """
    figures = {"loss": loss, **metrics.classification(answers.true, answers.given, answers.labels)}
    if answers.positive is None:
        groups = metrics.calibration(answers.probability, answers.right)
    else:
        positive = answers.true == answers.positive
        figures |= metrics.detection(positive, answers.given == answers.positive, answers.probability)
        groups = metrics.calibration(answers.probability, positive)
    figures["calibration_error"] = metrics.calibration_error(groups)
    if operating_point is not None:
        figures["operating_threshold"] = operating_point["threshold"]

    if answers.leaked is not None:
        figures |= doubts.accuracy_without(answers.leaked, answers.right)
    alone, spread = members.measured(
        models, lambda one: metrics.classification(one.targets[LABEL_IDS], one.answers[LABEL_IDS], answers.labels)
    )
    figures |= spread

    whole, *each = importance.of_members(
        asks, answers.rows, answers.columns, answers.true, positive=answers.positive, seed=SEED
    )
    agreement = importance.stability(np.array([one.mean for one in each]))
    for kind, values in {"": whole.mean, "_low": whole.interval[0], "_high": whole.interval[1]}.items():
        figures |= {f"importance{kind}/{name}": float(v) for name, v in zip(answers.columns, values, strict=True)}
    if answers.attention is not None:
        attention = answers.attention.mean(axis=0)
        figures |= {f"attention/{name}": float(v) for name, v in zip(answers.columns, attention, strict=True)}
    if agreement is not None:
        figures["importance_agreement"] = agreement.correlation
    return evaluate.Findings(
        metrics=figures,
        predictions=_predictions(answers),
        headline=tabular_sections.headline(answers, figures, split),
        sections=[
            tabular_sections.confused(answers, figures),
            *([members.section(alone, figures, models, len(answers.rows))] if models else []),
            *([tabular_sections.curves(answers, figures, operating_point)] if answers.has_both_kinds else []),
            tabular_sections.relied_on(answers, whole, each, agreement),
            tabular_sections.mistakes(answers, whole),
            *([tabular_sections.essential(answers, len(each))] if answers.essential is not None else []),
            tabular_sections.certainty(answers, groups),
        ],
        thing="row",
    )


def _predictions(answers: Answers) -> Iterator[dict[str, Any]]:
    best = np.argsort(-answers.scores, axis=1, kind="stable")[:, :KEPT_SCORES]
    for number, row in enumerate(answers.rows):
        line = {
            **row,
            "predicted": answers.labels[answers.given[number]],
            "right": bool(answers.right[number]),
            "scores": {answers.labels[place]: round(float(answers.scores[number, place]), 6) for place in best[number]},
        }
        if answers.essential is not None:
            line[ESSENTIAL_FEATURES] = [float(f"{value:.6g}") for value in answers.essential[number]]
        if answers.attention is not None:
            weights = zip(answers.columns, answers.attention[number], strict=True)
            line[COLUMN_ATTENTION] = {column: round(float(weight), 6) for column, weight in weights}
        yield line


def _write_results(answers: Answers, path: Path) -> None:
    identifiers = answers.identifiers
    essential = np.empty((len(answers.rows), 0)) if answers.essential is None else answers.essential
    with files.atomic_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        numbered = [f"essential_{number + 1}" for number in range(essential.shape[1])]
        table.writerow([*identifiers, ROW, LABEL, "predicted", "right", "probability", *numbered])
        for number, row in enumerate(answers.rows):
            table.writerow(
                [
                    *(row[name] for name in identifiers),
                    row[ROW],
                    row[LABEL],
                    answers.labels[answers.given[number]],
                    "TRUE" if answers.right[number] else "FALSE",
                    f"{answers.probability[number]:.6f}",
                    *(f"{value:.6g}" for value in essential[number]),
                ]
            )


def _say(figures: dict[str, float], columns: Sequence[str]) -> None:
    shares = [name for name in ("accuracy", "sensitivity", "specificity", "roc_auc") if name in figures]
    table = [[name, figures[name], figures[f"{name}_low"], figures[f"{name}_high"]] for name in shares]
    console.table("Answers", ["figure", "share", "95% from", "to"], table)
    relied_on = [column for column in columns if figures[f"importance_low/{column}"] > 0]
    first = sorted(relied_on, key=lambda column: -figures[f"importance/{column}"])[:3]
    most = f"relies most on {', '.join(first)}" if first else "relies on no single column beyond chance"
    console.note(f"baseline {figures['baseline_accuracy']:.4f}; {most}")
