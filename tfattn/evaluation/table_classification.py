"""The evaluation of a classifier of table rows: detection metrics, errors, and feature importance."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tfattn.evaluation import calibration_sections, permutation_importance, table_sections, warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.feature_importance import measure_importance
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import calibration, calibration_error, classification, detection, log_loss
from tfattn.evaluation.row_predictions import label_line
from tfattn.evaluation.table_sections import ROW, PredictedTableRows
from tfattn.evaluation.wording import count
from tfattn.features import COLUMN_ATTENTION, ESSENTIAL_FEATURES, LABEL_IDS, TARGET
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

RESULTS = "results.tsv"


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate a classifier of table rows, and the importance of its columns.

    The table `results.tsv` has a line per row: its identifiers, `row`, `label`, `predicted`, `right` (TRUE or FALSE),
    `probability` (of the positive label, or of the predicted label if none is positive), and `essential_1` to
    `essential_E` for models with essential features.

    Args:
        ensemble: the trained models, with labels, and an operating point, if any; the task has the `positive_id`.
        predictions: rows as in `PredictedTableRows`; `label_ids` (N,), `scores` (N, C), and optionally
            `essential_features` (N, E) and `column_attention` (N, K).

    Returns:
        a report whose metrics are `log_loss`, those of metrics.classification, `calibration_error`, with a positive
        label those of metrics.detection, with an operating point `operating_threshold`; those of
        warnings.accuracy_without; with a calibration those of calibration_sections.of_labels; `importance/COLUMN` with
        `importance_low/COLUMN` and `importance_high/COLUMN`, and maybe `attention/COLUMN`; of several members
        `importance_agreement`, their rank correlation, and those of Spread.
    """
    values = predictions.values
    predicted = PredictedTableRows(
        rows=predictions.rows,
        columns=ensemble.preprocessor.fields,
        labels=ensemble.labels,
        positive=ensemble.task.positive_id,
        true=predictions.targets[LABEL_IDS],
        predicted_ids=values[LABEL_IDS],
        scores=values["scores"],
        leaked=predictions.leaked,
        essential=values.get(ESSENTIAL_FEATURES),
        attention=values.get(COLUMN_ATTENTION),
    )
    metrics = {
        "log_loss": log_loss(predicted.true, predicted.scores),
        **classification(predicted.true, predicted.predicted_ids, predicted.labels),
    }
    is_true = predicted.right if predicted.positive is None else predicted.true == predicted.positive
    if predicted.positive is not None:
        metrics |= detection(is_true, predicted.predicted_ids == predicted.positive, predicted.probability)
    groups = calibration(predicted.probability, is_true)
    metrics["calibration_error"] = calibration_error(groups)
    calibrated = calibration_sections.of_labels(
        ensemble,
        predictions,
        predicted.true,
        groups=lambda scores: calibration(replace(predicted, scores=scores).probability, is_true),
        unit="row",
        axes=table_sections.calibration_axes(predicted),
    )
    metrics |= calibrated.metrics
    if ensemble.operating_point is not None:
        metrics["operating_threshold"] = ensemble.operating_point.threshold
    metrics |= warnings.accuracy_without(predicted.leaked, predicted.right)
    each = ((member.name, member.targets[LABEL_IDS], member.values[LABEL_IDS]) for member in predictions.members)
    spread = Spread("accuracy", {name: classification(*ids, predicted.labels) for name, *ids in each})
    metrics |= spread.metrics

    measure = permutation_importance.of_labels(predicted.true, predicted.positive)
    importances = measure_importance(ensemble, predictions, predicted.true, predicted="scores", measure=measure)
    metrics |= importances.metrics
    curves = [table_sections.curves(predicted, metrics, ensemble.operating_point)] if predicted.has_both_kinds else []
    sizes = [(len(predicted.rows), f"{predictions.split} row"), (len(predicted.columns), "column")]
    return TaskReport(
        question="what is the label of a row?",
        measured=", ".join(count(*size) for size in [*sizes, (len(predicted.labels), "label")]),
        metrics=metrics,
        predictions=calibrated.lines(_lines(predicted)),
        headline=table_sections.headline(predicted, metrics, predictions.split, spread.facts | calibrated.facts),
        sections=[
            table_sections.confused(predicted, metrics),
            *spread.sections(metrics, predictions),
            *curves,
            importances.section(),
            table_sections.mistakes(predicted, importances.whole),
            *([table_sections.essential(predicted, len(importances.each))] if predicted.essential is not None else []),
            table_sections.certainty(predicted, groups),
            *calibrated.sections,
        ],
        unit="row",
        summary=f"baseline {metrics['baseline_accuracy']:.4f}; {importances.summary}",
        console_table=_console_table(metrics),
        tables={RESULTS: _results(predicted)},
    )


def _lines(predicted: PredictedTableRows) -> Iterator[dict[str, Any]]:
    each = zip(predicted.rows, predicted.true, predicted.predicted_ids, predicted.scores, strict=True)
    for number, (row, true, predicted_id, scores) in enumerate(each):
        line = label_line(row, predicted.labels, true=true, predicted_id=predicted_id, scores=scores)
        if predicted.essential is not None:
            line[ESSENTIAL_FEATURES] = [float(f"{value:.6g}") for value in predicted.essential[number]]
        if predicted.attention is not None:
            weights = zip(predicted.columns, predicted.attention[number], strict=True)
            line[COLUMN_ATTENTION] = {column: round(float(weight), 6) for column, weight in weights}
        yield line


def _results(predicted: PredictedTableRows) -> Iterator[list[str]]:
    identifiers = predicted.identifiers
    essential = np.empty((len(predicted.rows), 0)) if predicted.essential is None else predicted.essential
    numbered = [f"essential_{number + 1}" for number in range(essential.shape[1])]
    yield [*identifiers, ROW, TARGET, "predicted", "right", "probability", *numbered]
    for number, row in enumerate(predicted.rows):
        yield [
            *(row[name] for name in identifiers),
            row[ROW],
            predicted.labels[predicted.true[number]],
            predicted.labels[predicted.predicted_ids[number]],
            "TRUE" if predicted.right[number] else "FALSE",
            f"{predicted.probability[number]:.6f}",
            *(f"{value:.6g}" for value in essential[number]),
        ]


def _console_table(metrics: dict[str, float]) -> tuple[str, list[str], list[list[Any]]]:
    fractions = [name for name in ("accuracy", "sensitivity", "specificity", "roc_auc") if name in metrics]
    table = [[name, metrics[name], metrics[f"{name}_low"], metrics[f"{name}_high"]] for name in fractions]
    return "Predictions", ["metric", "fraction", "95% from", "to"], table
