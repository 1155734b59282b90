"""The most important columns of a table for a model: as metrics, and as a section of its report."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import importance, tabular_plots
from tfattn.evaluation.importance import Importance, Measure, Stability
from tfattn.evaluation.report import Picture, Section, Table, Text
from tfattn.evaluation.wording import between, count, fixed, listed, needed, number, percent
from tfattn.features import COLUMN_ATTENTION
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

SEED = 0  # of the shuffled columns: one evaluation of one model always says the same
MAX_ROWS = 30  # of longer tables, which start folded


@dataclass(frozen=True)
class FeatureImportance:
    """The importance of the columns of a table for an ensemble.

    Args:
        whole: of all models together, each of K columns.
        each: of each model.
        attention: (N, K) how much they look at each column of each row; None where they do not say.
    """

    whole: Importance
    each: Sequence[Importance]
    attention: np.ndarray | None

    @cached_property
    def agreement(self) -> Stability | None:
        """Whether several models agree on the important columns."""
        return importance.stability(np.array([one.mean for one in self.each]))

    @property
    def metrics(self) -> dict[str, float]:
        """By flat names `importance/COLUMN`, with its interval, maybe `attention/COLUMN` and `importance_agreement`."""
        columns, (low, high) = self.whole.columns, self.whole.interval
        kinds = {"importance": self.whole.mean, "importance_low": low, "importance_high": high}
        if self.attention is not None:
            kinds["attention"] = self.attention.mean(axis=0)
        metrics = {
            f"{kind}/{name}": float(value)
            for kind, values in kinds.items()
            for name, value in zip(columns, values, strict=True)
        }
        return metrics | ({"importance_agreement": self.agreement.correlation} if self.agreement else {})

    @property
    def summary(self) -> str:
        """The first few columns, in a few words."""
        first = [self.whole.columns[place] for place in self.whole.important[:3]]
        return f"most important features: {', '.join(first)}" if first else "no column is important beyond chance"

    def section(self) -> Section:
        """Tell how much worse shuffled columns make predictions, where models look, and whether they agree."""
        whole, agreement = self.whole, self.agreement
        low, high = whole.interval
        attention = None if self.attention is None else self.attention.mean(axis=0)
        picture = tabular_plots.importances(
            whole.columns,
            whole.mean,
            whole.interval,
            loss=whole.loss,
            members=np.array([member.mean for member in self.each]) if agreement else None,
            attention=attention,
        )
        heads = ["column", f"rise of {whole.loss} (95% interval)", f"drop of {whole.metric}"]
        heads += [] if attention is None else ["attention"]
        heads += [f"in first {agreement.first}"] if agreement else []
        table = [
            [
                whole.columns[place],
                _rise(whole.mean[place], low[place], high[place]),
                round(float(whole.drops[:, place].mean()), 4),
                *([] if attention is None else [percent(attention[place])]),
                *([percent(agreement.among_first[place])] if agreement else []),
            ]
            for place in np.argsort(-whole.mean, kind="stable")
        ]
        return Section(
            "Most important features",
            [
                *map(Text, self._words(attention is not None)),
                Picture("importance", svg(picture), "importance of each column"),
                Table(heads, table, folded=f"All {len(table)} columns" if len(table) > MAX_ROWS else ""),
            ],
        )

    def _words(self, has_attention: bool) -> list[str]:
        whole, agreement = self.whole, self.agreement
        first = [whole.columns[place] for place in whole.important]
        words = [
            f"Important beyond chance: {listed(first)}." if first else "No single column is important beyond chance.",
            f"The values of one column at a time were shuffled among {count(whole.rows, 'row')}, {len(whole.rises)} "
            f"times: the more the {whole.loss}{SURPRISE.get(whole.loss, '')} rises, the more important that column "
            "is. The interval is that of the mean over all shuffles. Columns with the same information replace each "
            "other, so each may look less important than both are.",
        ]
        if has_attention:
            words.append(
                "Attention is where the model looks, averaged over the rows. It need not agree: what is looked at may "
                "change little."
            )
        if agreement:
            words.append(
                f"The {len(self.each)} members of this ensemble rank the columns with a mean correlation of "
                f"{agreement.correlation:.2f} (1: all alike; 0: by chance). The last column of the table says how "
                f"many have a column among their first {agreement.first}."
            )
        return words


# What losses are in plain words.
SURPRISE = {
    "log loss": " (the surprise at the right labels)",
    "squared error": " (in squared standard deviations of the training targets)",
}


def measure_importance(
    ensemble: TrainedEnsemble,
    predictions: SplitPredictions,
    true: np.ndarray,
    *,
    predicted: str,
    measure: Measure,
) -> FeatureImportance:
    """Shuffle the columns of a table.

    Args:
        ensemble: whose preprocessor names the columns.
        predictions: for N rows.
        true: (N, ...) what should have been predicted.
        predicted: the name of what is measured among the predictions, such as "scores".
        measure: how well it is predicted.
    """
    whole, *each = importance.permutation(
        lambda rows: [one[predicted] for one in ensemble.predict_each(rows)],
        predictions.rows,
        ensemble.preprocessor.fields,
        true,
        measure=measure,
        seed=SEED,
    )
    return FeatureImportance(whole, each, predictions.values.get(COLUMN_ATTENTION))


def _rise(mean: float, low: float, high: float) -> str:
    """With its interval, in as many decimals as the interval needs; a column that the model ignores has none."""
    if low == high:
        return number(mean)
    return f"{fixed(mean, needed(low, high, decimals=4))} ({between(low, high)})"
