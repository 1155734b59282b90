"""Label errors: planted wrong labels in SST-2 and Telco, found by tfattn and by cleanlab with the same scores.

2 % of the labels are changed at random, with three seeds. Both programs get the same out-of-fold scores and prune by
noise rate, ranked by normalized margin. Telco is the file of the environment variable TELCO, or
../shared/data/tabular/telco_churn/train.csv.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import results, sst2
from tfattn.config.resolve import resolve
from tfattn.data.preparation.survey import complete_rows
from tfattn.data.preparation.units import numbered_parts
from tfattn.evaluation.confident_learning import find_label_errors
from tfattn.evaluation.out_of_fold import BASELINE, out_of_fold_scores
from tfattn.features import TEXT
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.runs.data import build_data

FRACTION = 0.02
SEEDS = (1, 2, 3)
# The scores of texts were chosen on the first 20,000 rows of SST-2 with another seed, so other rows are measured.
SST2_ROWS = slice(20_000, 30_000)
FIRST = "precision of the first"

Rows = list[dict[str, Any]]


class Texts(Preprocessor):
    """The input of SST-2."""

    fields = (TEXT,)


def main() -> Iterator[results.Table]:
    """Yield a table for each data set."""
    texts = sst2.rows(SST2_ROWS.stop)[SST2_ROWS]
    rows, true = [{TEXT: text} for text, _ in texts], np.array([label for _, label in texts])
    yield _table("SST-2", Texts(), rows, true, [BASELINE, "minilm"])
    data = build_data(resolve("pipelines/telco_churn.yaml", [f"data.source.path={_telco()}"]))
    customers = [row for unit in numbered_parts(data) for row in complete_rows(data, unit)]
    labels = np.array([int(data.targets.stratum(row) == "Yes") for row in customers])
    yield _table("Telco", data.preprocessing, [row.fields for row in customers], labels, [BASELINE])


def _table(name: str, preprocessor: Preprocessor, rows: Rows, true: np.ndarray, origins: list[str]) -> results.Table:
    planted = round(FRACTION * len(true))
    cells = []
    for origin in origins:
        measured: dict[str, list[tuple[float, ...]]] = {program: [] for program in _programs()}
        for seed in SEEDS:
            is_wrong = np.zeros(len(true), bool)
            is_wrong[np.random.default_rng(seed).choice(len(true), planted, replace=False)] = True
            given = np.where(is_wrong, 1 - true, true)
            scores = out_of_fold_scores(preprocessor, rows, given, labels=["0", "1"], scores=origin, seed=seed)
            for program, find in _programs().items():
                measured[program].append(_quality(find(given, scores), is_wrong))
        for program, of_seeds in measured.items():
            columns = np.array(of_seeds).T
            counts, *fractions = columns
            cells.append([f"{program}, {origin}", f"{counts.mean():,.0f}", *map(_mean_and_range, fractions)])
    return results.Table(
        title=f"{name}, {len(true):,} rows, {planted} wrong labels",
        columns=["program, scores", "found", "precision", "recall", f"{FIRST} {planted}"],
        rows=cells,
        notes=["Mean of three seeds (minimum to maximum). A label that was already wrong counts as a false alarm."],
    )


def _programs() -> dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]:
    """Return functions of labels and scores, which return the ranked rows of each program."""
    programs = {"tfattn": lambda given, scores: find_label_errors(given, scores).rows}
    try:
        from cleanlab.filter import find_label_issues
    except ImportError:
        return programs
    options = {"filter_by": "prune_by_noise_rate", "return_indices_ranked_by": "normalized_margin", "n_jobs": 1}
    return programs | {"cleanlab": lambda given, scores: find_label_issues(given, scores, **options)}


def _quality(found: np.ndarray, is_wrong: np.ndarray) -> tuple[float, ...]:
    """Return the number of found rows, precision, recall, and the precision of as many first rows as are wrong."""
    hits = is_wrong[found]
    first = hits[: is_wrong.sum()]
    return len(found), hits.mean(), hits.sum() / is_wrong.sum(), first.mean()


def _mean_and_range(values: np.ndarray) -> str:
    return f"{values.mean():.3f} ({values.min():.3f} to {values.max():.3f})"


def _telco() -> Path:
    path = Path(os.environ.get("TELCO", "../shared/data/tabular/telco_churn/train.csv"))
    if not path.is_file():
        sys.exit(f"no such file: {path}: set the environment variable TELCO to the table of Telco customers")
    return path.absolute()
