"""Tables: a pipeline compared with gradient boosting and logistic regression of scikit-learn on the same rows.

    python -m benchmarks.tabular PIPELINE DATA [--seeds 5] [--splits 1] [--set KEY=VALUE ...]

PIPELINE is a name under pipelines/, DATA its table. The peers are trained on our training and validation rows; gradient
boosting is tuned on them by cross-validation for accuracy. All are evaluated on the held-out rows of the pipeline.
`--splits` evaluates several splits, and prints the means and the difference to boosting.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from benchmarks import results
from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.data.section import Data
from tfattn.formats.numbers import read

TRIALS, FOLDS = 20, 3
CHOICES = {
    "learning_rate": loguniform(0.02, 0.3),
    "max_iter": randint(50, 400),
    "max_leaf_nodes": randint(7, 63),
    "min_samples_leaf": randint(5, 60),
    "l2_regularization": loguniform(1e-3, 10),
}
TOGETHER, BOOSTING = "the pipeline as it is", "gradient boosting, tuned"
METRICS = ("accuracy", "sensitivity", "specificity", "roc_auc")


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline")
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument("--alone", action="store_true", help="no rivals")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> list[results.Table]:
    """Return the metrics of each candidate on the held-out rows, and the seconds of training."""
    path = Path(f"pipelines/{arguments.pipeline}.yaml")
    overrides = [f"data.source.path={arguments.data.absolute()}", *arguments.overrides]
    seed = resolve(path, overrides).values["seed"]
    splits = [
        _compared(path, [*overrides, f"seed={seed + number}"], arguments.seeds, rivals=not arguments.alone)
        for number in range(arguments.splits)
    ]
    means = {name: _mean([split[name] for split in splits]) for name in splits[0]}
    rows = [
        [name, *(f"{mean[metric]:.4f}" for metric in METRICS), f"{mean['seconds']:.0f}"] for name, mean in means.items()
    ]
    notes = []
    if not arguments.alone and arguments.splits > 1:
        differences = [split[TOGETHER]["accuracy"] - split[BOOSTING]["accuracy"] for split in splits]
        error = np.std(differences, ddof=1) / math.sqrt(len(splits))
        difference = f"accuracy {np.mean(differences):+.4f}, standard error {error:.4f}"
        notes.append(f"{TOGETHER.capitalize()} less {BOOSTING}: {difference}.")
    title = f"{arguments.pipeline}, held-out rows, splits: {arguments.splits}"
    return [results.Table(title=title, columns=["", *METRICS, "seconds of training"], rows=rows, notes=notes)]


def _compared(path: Path, overrides: list[str], seeds: int, *, rivals: bool) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as scratch:
        alone = [
            _run_tfattn(path, [*overrides, "ensemble=null", f"training.seed={seed}"], Path(scratch))
            for seed in range(seeds)
        ]
        together = _run_tfattn(path, overrides, Path(scratch))
        rows = {f"one model, mean of {seeds} seeds": _mean(alone), TOGETHER: together}
        if rivals:
            table = Table(path, overrides, together["folder"])
            rows |= {BOOSTING: boosting(table), "logistic regression": linear(table)}
    return rows


class Table:
    """The rows of a run as arrays: numbers, and categories as texts.

    Args:
        path: the pipeline file.
        overrides: its overrides.
        folder: the folder of the run.
    """

    def __init__(self, path: Path, overrides: list[str], folder: Path):
        data: Data = build(resolve(path, overrides), "data")
        test = next(folder.parent.glob("prepared/*/test.jsonl"))
        kept_aside = {json.loads(line)["row"] for line in test.read_text().splitlines()}
        rows = list(data.source.rows())
        self.numeric = [name in data.preprocessing.numeric for name in data.preprocessing.fields]
        self._missing = data.preprocessing.missing
        self.labels = sorted({row.fields["label"].strip() for row in rows})
        is_test = np.array([row.where in kept_aside for row in rows])
        x = np.array([self._values(row.fields, data.preprocessing.fields) for row in rows], object)
        y = np.array([self.labels.index(row.fields["label"].strip()) for row in rows])
        self.train, self.test = (x[~is_test], y[~is_test]), (x[is_test], y[is_test])

    def _values(self, fields: dict[str, str], names: tuple[str, ...]) -> list[Any]:
        texts = [fields[name].strip() for name in names]
        return [
            (math.nan if text in self._missing else read(text)) if is_number else text
            for text, is_number in zip(texts, self.numeric, strict=True)
        ]


def boosting(table: Table) -> dict[str, Any]:
    """Fit HistGradientBoosting with native categories, tuned by random search."""
    categories = [not is_number for is_number in table.numeric]
    coded = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=math.nan, max_categories=250)
    ready = make_column_transformer((coded, categories), remainder="passthrough")
    positions = list(range(sum(categories)))
    model = HistGradientBoostingClassifier(categorical_features=positions, random_state=0)
    search = RandomizedSearchCV(
        make_pipeline(ready, model),
        {f"histgradientboostingclassifier__{name}": choice for name, choice in CHOICES.items()},
        n_iter=TRIALS,
        cv=FOLDS,
        random_state=0,
    )
    return _measure(search, table)


def linear(table: Table) -> dict[str, Any]:
    """Fit logistic regression on standardized numbers and one-hot categories."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    ready = make_column_transformer(
        (numbers, table.numeric), (categories, [not is_numeric for is_numeric in table.numeric])
    )
    return _measure(make_pipeline(ready, LogisticRegression(max_iter=5000)), table)


def _measure(model: Any, table: Table) -> dict[str, Any]:
    started = time.monotonic()
    model.fit(*table.train)
    seconds = time.monotonic() - started
    x, y = table.test
    given, scores = model.predict(x), model.predict_proba(x)[:, 1]
    return {
        "accuracy": accuracy_score(y, given),
        "sensitivity": accuracy_score(y[y == 1], given[y == 1]),
        "specificity": accuracy_score(y[y == 0], given[y == 0]),
        "roc_auc": roc_auc_score(y, scores),
        "seconds": seconds,
    }


def _run_tfattn(path: Path, overrides: list[str], scratch: Path) -> dict[str, Any]:
    settings = [f"runs_folder={scratch / 'runs'}", f"export.folder={scratch / 'saved_models'}", *overrides]
    options = [word for setting in settings for word in ("--set", setting)]
    started = time.monotonic()
    for stage in ("train", "evaluate"):
        subprocess.run([sys.executable, "-m", "tfattn", stage, str(path), *options], check=True, capture_output=True)
        if stage == "train":
            seconds = time.monotonic() - started
    (folder,) = (scratch / "runs").glob("*/latest")
    metrics = json.loads((folder / "metrics.json").read_text())
    return {**metrics, "seconds": seconds, "folder": folder.resolve()}


def _mean(runs: list[dict[str, Any]]) -> dict[str, float]:
    return {name: float(np.mean([run[name] for run in runs])) for name in (*METRICS, "seconds")}


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
