"""The evaluation of a classifier of table rows: what it finds, what it misses, and which columns it relies on."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfattn.evaluation import doubts, importance, members, metrics, tabular_sections
from tfattn.evaluation.evaluate import Findings
from tfattn.evaluation.tabular_sections import ROW, Answers
from tfattn.evaluation.wording import count
from tfattn.features import COLUMN_ATTENTION, ESSENTIAL_FEATURES, LABEL, LABEL_IDS
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

RESULTS = "results.tsv"
SEED = 0  # of the shuffled columns: one evaluation of one model always says the same
KEPT_SCORES = 5


def report(ensemble: TrainedEnsemble, predicted: SplitPredictions) -> Findings:
    """Measures a classifier of table rows, and which columns it relies on.

    Its table `results.tsv` holds a line per row: its identifiers, `row`, `label`, `predicted`, `right` (TRUE or FALSE),
    `probability` (of the positive label; of the given one, if none is positive), and `essential_1` to `essential_E` of
    a model that has them.

    Args:
        ensemble: whose `labels` are given, at its operating point where it has one; its task has the `positive_id`.
        predicted: rows as `Answers` takes them; `label_ids` (N,) and `scores` (N, C), and maybe `essential_features`
            (N, E) and `column_attention` (N, K).

    Returns:
        findings whose metrics are `loss`, those of metrics.classification, `calibration_error`, with a positive label
        those of metrics.detection, with an operating point `operating_threshold`; those of doubts.accuracy_without;
        `importance/COLUMN` with `importance_low/COLUMN` and `importance_high/COLUMN`, and maybe `attention/COLUMN`; of
        several members `importance_agreement`, their rank correlation, and those of members.measured.
    """
    values = predicted.values
    answers = Answers(
        predicted.rows,
        ensemble.preprocessor.fields,
        ensemble.labels,
        ensemble.task.positive_id,
        true=predicted.targets[LABEL_IDS],
        given=values[LABEL_IDS],
        scores=values["scores"],
        leaked=predicted.leaked,
        essential=values.get(ESSENTIAL_FEATURES),
        attention=values.get(COLUMN_ATTENTION),
    )
    figures = {"loss": predicted.loss, **metrics.classification(answers.true, answers.given, answers.labels)}
    if answers.positive is None:
        groups = metrics.calibration(answers.probability, answers.right)
    else:
        positive = answers.true == answers.positive
        figures |= metrics.detection(positive, answers.given == answers.positive, answers.probability)
        groups = metrics.calibration(answers.probability, positive)
    figures["calibration_error"] = metrics.calibration_error(groups)
    if ensemble.operating_point is not None:
        figures["operating_threshold"] = ensemble.operating_point.threshold
    figures |= doubts.accuracy_without(answers.leaked, answers.right)
    alone, spread = members.measured(predicted.members, answers.labels)
    figures |= spread

    whole, *each = importance.permutation(
        lambda rows: [one["scores"] for one in ensemble.predict_each(rows)],
        answers.rows,
        answers.columns,
        answers.true,
        positive=answers.positive,
        seed=SEED,
    )
    agreement = importance.stability(np.array([one.mean for one in each]))
    for kind, costs in {"": whole.mean, "_low": whole.interval[0], "_high": whole.interval[1]}.items():
        figures |= {f"importance{kind}/{name}": float(v) for name, v in zip(answers.columns, costs, strict=True)}
    if answers.attention is not None:
        attention = answers.attention.mean(axis=0)
        figures |= {f"attention/{name}": float(v) for name, v in zip(answers.columns, attention, strict=True)}
    if agreement is not None:
        figures["importance_agreement"] = agreement.correlation
    sizes = [(len(answers.rows), f"{predicted.split} row"), (len(answers.columns), "column")]
    return Findings(
        question="which label does a row get?",
        measured=", ".join(count(*size) for size in [*sizes, (len(answers.labels), "label")]),
        metrics=figures,
        predictions=_predictions(answers),
        headline=tabular_sections.headline(answers, figures, predicted.split),
        sections=[
            tabular_sections.confused(answers, figures),
            *members.sections(alone, figures, predicted),
            *([tabular_sections.curves(answers, figures, ensemble.operating_point)] if answers.has_both_kinds else []),
            tabular_sections.relied_on(answers, whole, each, agreement),
            tabular_sections.mistakes(answers, whole),
            *([tabular_sections.essential(answers, len(each))] if answers.essential is not None else []),
            tabular_sections.certainty(answers, groups),
        ],
        thing="row",
        in_short=_in_short(figures, answers.columns),
        summary=_summary(figures),
        tables={RESULTS: _results(answers)},
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


def _results(answers: Answers) -> Iterator[list[str]]:
    identifiers = answers.identifiers
    essential = np.empty((len(answers.rows), 0)) if answers.essential is None else answers.essential
    numbered = [f"essential_{number + 1}" for number in range(essential.shape[1])]
    yield [*identifiers, ROW, LABEL, "predicted", "right", "probability", *numbered]
    for number, row in enumerate(answers.rows):
        yield [
            *(row[name] for name in identifiers),
            row[ROW],
            row[LABEL],
            answers.labels[answers.given[number]],
            "TRUE" if answers.right[number] else "FALSE",
            f"{answers.probability[number]:.6f}",
            *(f"{value:.6g}" for value in essential[number]),
        ]


def _summary(figures: dict[str, float]) -> tuple[str, list[str], list[list[Any]]]:
    shares = [name for name in ("accuracy", "sensitivity", "specificity", "roc_auc") if name in figures]
    table = [[name, figures[name], figures[f"{name}_low"], figures[f"{name}_high"]] for name in shares]
    return "Answers", ["figure", "share", "95% from", "to"], table


def _in_short(figures: dict[str, float], columns: Sequence[str]) -> str:
    relied_on = [column for column in columns if figures[f"importance_low/{column}"] > 0]
    first = sorted(relied_on, key=lambda column: -figures[f"importance/{column}"])[:3]
    most = f"relies most on {', '.join(first)}" if first else "relies on no single column beyond chance"
    return f"baseline {figures['baseline_accuracy']:.4f}; {most}"
