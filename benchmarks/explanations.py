"""Explanations: deletion curves of several orders of words or columns, and agreement with the package shap.

    python -m benchmarks.explanations MODEL DATA [--rows 60] [--background FILE] [--phrases FILE] [--record]
    python -m benchmarks.explanations --linear [--record]

MODEL is an export, DATA a file of rows that it was not trained on, such as predictions.jsonl of its run. The most
important words or columns of each row are removed first: the faster the score of the predicted label falls, the better
the order. `--phrases` names a file of labelled phrases, such as train.tsv of SST-2, whose single words are a gold
standard of people. The first rows of DATA are measured; nothing is chosen on them.
"""

import argparse
import csv
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import results
from tfattn.evaluation import explain_rows
from tfattn.evaluation.row_explanations import Explainer, without_words
from tfattn.evaluation.served_ensemble import ServedEnsemble
from tfattn.evaluation.shapley import shapley_values
from tfattn.export.attention import ATTENTION, ATTRIBUTIONS
from tfattn.serving.commands import open_model
from tfattn.tasks.intervals import paired

RANDOM = "random, mean of 5 orders"
FRACTIONS = np.arange(1, 6) / 10  # of the words or columns that are removed
RANDOM_ORDERS = 5
REPLACEMENTS = 20  # background rows whose values replace removed columns

Order = np.ndarray
Row = dict[str, Any]


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("data", nargs="?")
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--background")
    parser.add_argument("--phrases", type=Path)
    parser.add_argument("--linear", action="store_true", help="agreement with shap on a linear model")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> list[results.Table]:
    """Return the areas over the deletion curves, or the agreement with shap."""
    if arguments.linear:
        return [agreement_with_shap()]
    model = Opened(arguments.model, arguments.background)
    rows = model.rows(arguments.data, arguments.rows)
    polarity = read_polarity(arguments.phrases) if arguments.phrases else {}
    random = np.random.default_rng(0)
    found: dict[str, list[list[float]]] = {}
    seconds: dict[str, list[float]] = {}
    for row in rows:
        index = model.predicted(row)
        units = model.units(row)
        for name, order_of in model.orders(polarity).items():
            started = time.monotonic()
            order = order_of(row, index)
            seconds.setdefault(name, []).append(time.monotonic() - started)
            found.setdefault(name, []).append(model.drops(row, index, order))
        drops = [model.drops(row, index, random.permutation(len(units[1]))) for _ in range(RANDOM_ORDERS)]
        found.setdefault(RANDOM, []).append(np.mean(drops, axis=0).tolist())
    return [_table(arguments, model, found, seconds)]


def _table(
    arguments: argparse.Namespace,
    model: "Opened",
    found: dict[str, list[list[float]]],
    seconds: dict[str, list[float]],
) -> results.Table:
    areas = {name: np.mean(drops, axis=1) for name, drops in found.items()}
    lines = []
    for name, drops in found.items():
        curve = [f"{value:.3f}" for value in np.mean(drops, axis=0)[[0, 2, 4]]]
        mean, low, high = paired(areas[name], areas[RANDOM])
        difference = "" if name == RANDOM else f"{mean:+.3f} ({low:.3f} to {high:.3f})"
        took = f"{np.mean(seconds[name]):.2f}" if name in seconds else ""
        lines.append([name, *curve, f"{areas[name].mean():.3f}", difference, took])
    unit = "columns" if model.is_table else "words"
    rows = len(areas[RANDOM])
    title = f"{arguments.model}, fall of the score of the predicted label after the removal of {unit}, {rows} rows"
    columns = ["order", "10 %", "30 %", "50 %", "area over the curve", "difference to random (95 %)", "seconds per row"]
    return results.Table(title=title, columns=columns, rows=lines)


class Opened:
    """An export with the orders in which its words or columns are removed.

    Args:
        name: the name of the export.
        background: a file of rows like those of training, for a table.
    """

    def __init__(self, name: str, background: str | None):
        self.opened = open_model(name, Path("saved_models"))
        self.served = ServedEnsemble(self.opened, labels=self.opened.labels)
        self.is_table = self.served.preprocessor.reads_columns
        self.name = name
        self.typical = explain_rows.typical_rows(self.opened)
        self.training = self._background(background) if background else []

    def _background(self, path: str) -> list[Row]:
        read = explain_rows.read_rows(self.opened, path)
        return explain_rows.raw_rows(explain_rows.background_rows(read))

    def rows(self, path: str, most: int) -> list[Row]:
        """Read the first rows of a file."""
        return explain_rows.raw_rows(explain_rows.read_rows(self.opened, path, format="jsonl", most=most))

    def predicted(self, row: Row) -> int:
        """Return the index of the predicted label."""
        return int(self.served.predict_each([row])[0]["label_ids"][0])

    def units(self, row: Row) -> tuple[list[str], list[str]]:
        """Return the input and the text of each word or column."""
        return Explainer(self.served, background=self.typical).check(row)

    def scores(self, rows: Sequence[Row], index: int) -> np.ndarray:
        """Return the scores of a label."""
        return np.asarray(self.served.predict_each(rows)[0]["scores"][:, index], np.float64)

    def removed(self, row: Row, kept: np.ndarray) -> list[Row]:
        """Return the row without some of its units: words are deleted, columns have the values of other rows."""
        fields, texts = self.units(row)
        if not self.is_table:
            return [without_words(row, fields, texts, kept)]
        gone = [name for name, is_kept in zip(fields, kept, strict=True) if not is_kept]
        return [{**row, **{name: other[name] for name in gone}} for other in self.training[:REPLACEMENTS]]

    def drops(self, row: Row, index: int, order: Order) -> list[float]:
        """Return the fall of the score after the removal of each fraction of the units, the first in order."""
        versions = [[row]]
        for fraction in FRACTIONS:
            kept = np.ones(len(order), bool)
            kept[order[: max(1, round(fraction * len(order)))]] = False
            versions.append(self.removed(row, kept))
        scores = self.scores([one for version in versions for one in version], index)
        means = [part.mean() for part in np.split(scores, np.cumsum([len(version) for version in versions])[:-1])]
        return [float(means[0] - mean) for mean in means[1:]]

    def orders(self, polarity: dict[str, int]) -> dict[str, Callable[[Row, int], Order]]:
        """Return the orders, by name: functions of a row and the index of the explained label."""
        if self.is_table:
            named = {
                "Shapley, statistics of the export": self.shapley(self.typical, 100),
                "Shapley, training rows": self.shapley(self.training, 100),
                "Shapley, training rows, 10 samples": self.shapley(self.training, 10),
            }
            return named | {"one column at a time": self.leave_one_out, "attention to columns": self.attention}
        named = {f"Shapley, {samples} samples": self.shapley((), samples) for samples in (2, 10, 20)}
        if ATTRIBUTIONS in self.opened.signatures:
            named["integrated gradients"] = self.gradients
        named["one word at a time"] = self.leave_one_out
        if polarity:
            named["words that people label so"] = lambda row, index: self.labelled(row, index, polarity)
        return named

    def shapley(self, background: Sequence[Row], samples: int) -> Callable[[Row, int], Order]:
        """Return the order by Shapley values."""
        explainer = Explainer(self.served, background=background, samples=samples)
        return lambda row, index: np.argsort(-explainer.explain(row, index).values, kind="stable")

    def gradients(self, row: Row, index: int) -> Order:
        """Return the order by integrated gradients; special tokens cannot be removed."""
        inputs = [{name: row[name] for name in self.served.preprocessor.fields}]
        tokens, found = (self.opened.arrays(inputs, signature=name) for name in (ATTENTION, ATTRIBUTIONS))
        real = ~tokens["is_special"][0] & (tokens["segments"][0] >= 0)
        names = [name.decode().removeprefix("##") for name in tokens["tokens"][0][real]]
        texts = [text.strip() for text in self.units(row)[1]]
        return np.argsort(-_per_word(names, found["attributions"][0][real], texts), kind="stable")

    def leave_one_out(self, row: Row, index: int) -> Order:
        """Return the order by the fall of the score when a single unit is removed."""
        size = len(self.units(row)[1])
        versions = [self.removed(row, ~np.eye(size, dtype=bool)[unit]) for unit in range(size)]
        scores = self.scores([one for version in versions for one in version], index)
        return np.argsort(scores.reshape(size, -1).mean(axis=1), kind="stable")

    def attention(self, row: Row, index: int) -> Order:
        """Return the order by the attention to columns."""
        return np.argsort(-self.served.predict_each([row])[0]["column_attention"][0], kind="stable")

    def labelled(self, row: Row, index: int, polarity: dict[str, int]) -> Order:
        """Return the words that people give the predicted label first, and those with the other label last."""
        sign = 1 if self.served.labels[index] == "1" else -1
        values = [sign * polarity.get(text.strip(), 0) for text in self.units(row)[1]]
        return np.argsort(-np.array(values), kind="stable")


def _per_word(pieces: Sequence[str], values: Sequence[float], words: Sequence[str]) -> np.ndarray:
    """Sum the values of the pieces of each word; pieces are aligned with words by their numbers of characters."""
    found, position, ends = np.zeros(len(words)), 0, np.cumsum([len(word) for word in words])
    for piece, value in zip(pieces, values, strict=True):
        found[min(int(np.searchsorted(ends, position, side="right")), len(words) - 1)] += value
        position += len(piece)
    return found


def read_polarity(path: Path) -> dict[str, int]:
    """Return 1 for single words that people label positive, and -1 for negative ones."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = [
            (row["sentence"].split(), row["label"])
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]
    return {words[0]: 1 if label == "1" else -1 for words, label in rows if len(words) == 1}


def agreement_with_shap() -> results.Table:
    """Compare our values with the exact values of shap on a linear model, and on a model with products of columns."""
    import shap

    rng = np.random.default_rng(0)
    background, rows, weights = rng.normal(size=(100, 8)), rng.normal(size=(20, 8)), rng.normal(size=8)
    exact = shap.LinearExplainer((weights, 0.0), shap.maskers.Independent(background, 100)).shap_values(rows)

    def product(x: np.ndarray) -> np.ndarray:
        return np.tanh(x @ weights) + x[:, 0] * x[:, 1]

    exact_product = shap.ExactExplainer(product, shap.maskers.Independent(background, 100))(rows).values
    lines = []
    for title, model, expected in [("linear", lambda x: x @ weights, exact), ("not linear", product, exact_product)]:
        for samples in (10, 100, 1000):
            found = [_values(model, row, background, samples) for row in rows]
            errors = np.array([each.values for each in found]) - expected
            inside = np.mean(
                [(each.low <= right) & (right <= each.high) for each, right in zip(found, expected, strict=True)]
            )
            values = [f"{np.abs(errors).max():.1e}", f"{np.abs(errors).mean():.1e}", f"{inside:.1%}"]
            lines.append([f"{title}, {samples} samples", *values])
    columns = ["model", "largest difference", "mean difference", "exact value in the interval"]
    title = (
        f"Shapley values of 20 rows and 8 columns with 100 background rows, and exact values of shap {shap.__version__}"
    )
    return results.Table(title=title, columns=columns, rows=lines)


def _values(model: Callable[[np.ndarray], np.ndarray], row: np.ndarray, background: np.ndarray, samples: int) -> Any:
    def score(present: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        return model(np.where(present, row, background[drawn]))

    return shapley_values(score, len(row), samples=samples, num_backgrounds=len(background))


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
