"""The section of a report that explains the largest errors of a classifier or of a regression model."""

from collections.abc import Iterator

import numpy as np

from tfattn.evaluation.explanation_sections import parts, remarks
from tfattn.evaluation.report import Section, Text
from tfattn.evaluation.row_explanations import Explainer
from tfattn.features import LABEL_IDS, PREDICTIONS, TARGET_VALUES
from tfattn.tasks.classification import Classification
from tfattn.tasks.regression import Regression
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

MAX_ROWS, SEARCHED_ROWS = 3, 20
SAMPLES, BACKGROUND_ROWS = {False: 5, True: 20}, 20  # of texts, and of tables
# Weights times the words or columns of all predictions for a row: about two seconds on two CPU cores.
MAX_WORK = 1e11


def explained_errors(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> list[Section]:
    """Return a section about the most confident errors, or the largest errors of numbers; none if it would take long.

    Only a single model of texts or tables is explained. Rows that need more than MAX_WORK are skipped.

    Args:
        ensemble: the trained model.
        predictions: its predictions for rows with targets.
    """
    fields, rows = ensemble.preprocessor.fields, predictions.rows
    is_row_task = isinstance(ensemble.task, Classification | Regression)
    if not is_row_task or len(ensemble.tasks) > 1 or not all(isinstance(rows[0][name], str) for name in fields):
        return []
    if ensemble.preprocessor.file_fields:
        return []
    is_table = ensemble.preprocessor.reads_columns
    background = rows[:: max(1, len(rows) // BACKGROUND_ROWS)][:BACKGROUND_ROWS] if is_table else ()
    explainer = Explainer(ensemble, background=background, samples=SAMPLES[is_table])
    weights, explanations = ensemble.task.count_params(), []
    for number, index in _errors(predictions):
        size = len(explainer.units(rows[number])[1])
        if size and weights * SAMPLES[is_table] * size**2 <= MAX_WORK:
            explanations.append(explainer.explain(rows[number], index))
        if len(explanations) == MAX_ROWS:
            break
    if not explanations:
        return []
    words = "The contributions of the words or columns to the scores of some of the largest errors."
    shown = [Text(words), *map(Text, remarks(explanations[0]))]
    for number, explanation in enumerate(explanations, start=1):
        shown += [Text(f"{number}. {explanation.row['row']}"), *parts(explanation, number)]
    return [Section("Explanations", shown)]


def _errors(predictions: SplitPredictions) -> Iterator[tuple[int, int | None]]:
    """Yield the indices of rows with errors, the largest first, and the index of the label that is explained."""
    if PREDICTIONS in predictions.values:
        sizes = np.abs(predictions.values[PREDICTIONS] - predictions.targets[TARGET_VALUES])
        yield from ((int(number), None) for number in np.argsort(-sizes, kind="stable")[:SEARCHED_ROWS])
        return
    labels = predictions.values[LABEL_IDS]
    confidence = predictions.values["scores"][np.arange(len(labels)), labels]
    wrong = np.flatnonzero(labels != predictions.targets[LABEL_IDS])
    for number in wrong[np.argsort(-confidence[wrong], kind="stable")][:SEARCHED_ROWS]:
        yield int(number), int(labels[number])
