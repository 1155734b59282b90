"""The evaluation of a classifier: how often it is right, what it confuses, where it is wrong and sure of it."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console, files
from tfattn.data.split import VALIDATION
from tfattn.evaluation import evaluate, metrics, plots
from tfattn.evaluation.report import Headline, Picture, Section, Table, Text
from tfattn.features import LABEL, LABEL_IDS

WORST_MISTAKES = 20
KEPT_SCORES = 5
MOST_LABELS = 30
THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)


def report(
    folder: str | Path,
    *,
    name: str,
    split: str,
    prepared: str | Path,
    configuration: str,
    rows: Sequence[dict[str, str]],
    answers: dict[str, np.ndarray],
    targets: dict[str, np.ndarray],
    loss: float,
) -> dict[str, float]:
    """Measures a classifier's answers and writes metrics, predictions, plots and the report into a run's folder.

    Args:
        folder: the run's; see evaluate.write for what is read and written there.
        name: the pipeline's name.
        split: which rows were answered.
        prepared: the folder of the prepared data, for its labels and summary.
        configuration: the resolved pipeline file.
        rows: N raw rows: `row` (file:line), `label`, and one or more texts.
        answers: `label_ids` (N,), the given labels, and `scores` (N, C), which sum to 1.
        targets: `label_ids` (N,), the right ones.
        loss: the mean loss over the rows.

    Returns:
        the metrics by flat names: loss, and those of metrics.classification.
    """
    labels = files.read_manifest(prepared)["labels"]
    found = find(rows, labels=labels, answers=answers, targets=targets, loss=loss)
    _say(found.metrics, labels)
    subtitle = f"Evaluated {datetime.now():%d %B %Y, %H:%M} on {len(rows):,} {split} texts: which of {len(labels)} labels?"
    remark = {
        VALIDATION: "The weights were chosen by these texts, so expect slightly less on new ones.",
    }.get(split, "These texts had no part in training or in the choice of weights.")
    ...
