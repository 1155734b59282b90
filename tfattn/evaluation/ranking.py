"""The evaluation of ranking: nDCG, MRR and recall by query, compared with BM25, and the worst lists."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tfattn.data.bm25 import Bm25
from tfattn.errors import DataError
from tfattn.evaluation import warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import bootstrap_interval
from tfattn.evaluation.report import Headline, Marked, Piece, Section, Table, Text
from tfattn.evaluation.row_predictions import MAX_ERRORS_SHOWN, location
from tfattn.evaluation.wording import between, count, fixed, shown_count
from tfattn.features import DOCUMENTS, GRADES, QUERY
from tfattn.ops.ranking import AT, ranking_metrics, ranks
from tfattn.rows import widened
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

MAX_CHARACTERS = 400  # of a displayed text
NAMES = {f"ndcg_at_{AT}": f"nDCG@{AT}", f"mrr_at_{AT}": f"MRR@{AT}", f"recall_at_{AT}": f"recall@{AT}"}
MAIN = f"ndcg_at_{AT}"


@dataclass(frozen=True, kw_only=True)
class RankedLists:
    """N queries with their documents, grades and scores.

    Args:
        rows: N raw rows.
        grades: (N, M) float32, 0 at padding.
        scores: (N, M) float32.
    """

    rows: Sequence[dict[str, Any]]
    grades: np.ndarray
    scores: np.ndarray

    @cached_property
    def sizes(self) -> np.ndarray:
        """(N,) the number of documents."""
        return np.array([len(row[DOCUMENTS]) for row in self.rows])

    @property
    def mask(self) -> np.ndarray:
        """(N, M) bool, False at padding."""
        return np.arange(self.grades.shape[1]) < self.sizes[:, None]

    @property
    def ranks(self) -> np.ndarray:
        """(N, M) the rank of each document, from 1."""
        return np.asarray(ranks(self.scores, self.grades, self.mask))

    @cached_property
    def metrics(self) -> dict[str, np.ndarray]:
        """The metrics of each query, (N,) by name."""
        return {name: np.asarray(x) for name, x in ranking_metrics(self.scores, self.grades, self.mask).items()}

    def by_bm25(self) -> "RankedLists":
        """Return the lists with the BM25 scores of the documents among all documents."""
        documents = list(dict.fromkeys(text for row in self.rows for text in row[DOCUMENTS]))
        index, numbers = Bm25(documents), {text: number for number, text in enumerate(documents)}
        scores = np.zeros(self.scores.shape, np.float32)
        for row, found in zip(self.rows, scores, strict=True):
            found[: len(row[DOCUMENTS])] = index.scores(row[QUERY])[[numbers[text] for text in row[DOCUMENTS]]]
        return RankedLists(rows=self.rows, grades=self.grades, scores=scores)


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate ranking. Queries without a relevant document do not count.

    Args:
        ensemble: the trained models of a Ranking.
        predictions: `scores` (N, M) and the target `grades` (N, M).

    Returns:
        a report whose metrics are the means over queries of `ranking_metrics`, each with its 95 % interval; each as
        `baseline_...` for the order by BM25; `better_than_bm25`, the difference in nDCG, with its interval; `queries`
        and `queries_without_relevant`; and for several models those of Spread.

    Raises:
        DataError: no query has a relevant document.
    """
    useful = np.flatnonzero((predictions.targets[GRADES] > 0).any(axis=1))
    if not len(useful):
        raise DataError(
            "no query has a relevant document",
            where=predictions.rows[0]["row"],
            expected=f"{predictions.split} rows with a grade above 0",
            received="grades of 0",
        )
    lists = _lists(predictions.rows, predictions.targets, predictions.values, useful)
    baseline = lists.by_bm25()
    leaked = predictions.leaked[useful]
    difference = lists.metrics[MAIN] - baseline.metrics[MAIN]
    metrics = {
        **_means(lists.metrics),
        **{f"baseline_{name}": float(values.mean()) for name, values in baseline.metrics.items()},
        **_mean("better_than_bm25", difference),
        **({} if leaked.all() or not leaked.any() else _mean(f"{MAIN}_without_leaked", lists.metrics[MAIN][~leaked])),
        "queries": len(useful),
        "queries_without_relevant": len(predictions.rows) - len(useful),
    }
    spread = Spread(MAIN, {member.name: _of_member(member, predictions) for member in predictions.members})
    metrics |= spread.metrics
    return TaskReport(
        question="which documents answer a query?",
        measured=count(len(lists.rows), f"{predictions.split} list"),
        metrics=metrics,
        predictions=_lines(predictions),
        headline=_headline(lists, metrics, predictions, leaked, spread.facts),
        sections=[_compared(metrics), _by_size(lists, baseline), *spread.sections(metrics, predictions), _worst(lists)],
        unit="query",
        summary=f"nDCG@{AT} {metrics[MAIN]:.4f} (95% interval {_interval(metrics, MAIN)}), BM25 "
        f"{metrics[f'baseline_{MAIN}']:.4f}",
        baselines={MAIN: metrics[f"baseline_{MAIN}"]},
    )


def _lists(rows: Sequence[dict[str, Any]], targets: Any, values: Any, useful: np.ndarray) -> RankedLists:
    grades, scores = targets[GRADES], values["scores"]
    width = max(grades.shape[1], scores.shape[1])
    grades, scores = widened(grades, [width]), widened(scores, [width])
    return RankedLists(rows=[rows[index] for index in useful], grades=grades[useful], scores=scores[useful])


def _of_member(member: Any, predictions: SplitPredictions) -> dict[str, float]:
    """Return the metrics of a member; the numbers of documents follow from its scores, which are above 0."""
    useful = np.flatnonzero((member.targets[GRADES] > 0).any(axis=1))
    sizes = (member.values["scores"] > 0).sum(axis=1)
    rows = [{DOCUMENTS: [""] * size} for size in sizes]
    return _means(_lists(rows, member.targets, member.values, useful).metrics)


def _means(metrics: dict[str, np.ndarray]) -> dict[str, float]:
    return {key: value for name, values in metrics.items() for key, value in _mean(name, values).items()}


def _mean(name: str, values: np.ndarray) -> dict[str, float]:
    """Return the mean of values of N queries, and its 95 % bootstrap interval."""
    low, high = bootstrap_interval(values[:, None].astype(np.float64), lambda sums: sums[:, 0] / len(values))
    return {name: float(values.mean()), f"{name}_low": low, f"{name}_high": high}


def _interval(metrics: dict[str, float], name: str) -> str:
    return between(metrics[f"{name}_low"], metrics[f"{name}_high"])


def _headline(
    lists: RankedLists,
    metrics: dict[str, float],
    predictions: SplitPredictions,
    leaked: np.ndarray,
    of_members: dict[str, str],
) -> Headline:
    is_first = lists.metrics[f"mrr_at_{AT}"] == 1
    cautions = []
    if metrics["better_than_bm25_low"] <= 0:
        better_or_not = "worse than" if metrics["better_than_bm25_high"] < 0 else "not better than"
        cautions.append(
            f"The model is {better_or_not} BM25, which counts common words and needs no training: the difference in "
            f"nDCG@{AT} is between {_interval(metrics, 'better_than_bm25').replace(' to ', ' and ')}."
        )
    remarks = [
        f"Baseline: the order by BM25 has an nDCG@{AT} of {fixed(metrics[f'baseline_{MAIN}'], 4)}. The model is better "
        f"by {fixed(metrics['better_than_bm25'], 4)} (95% interval {_interval(metrics, 'better_than_bm25')}).",
        f"The 95% confidence interval of the nDCG@{AT} is {_interval(metrics, MAIN)}.",
    ]
    if without := metrics["queries_without_relevant"]:
        remarks.append(f"{count(without, 'list')} without a relevant document not counted.")
    if lists.sizes.max() <= AT:
        remarks.append(f"No list has more than {AT} documents, so recall@{AT} is always 1.")
    return Headline(
        metric=fixed(metrics[MAIN], 3),
        sentence=f"The nDCG@{AT}, from 0 to 1, is {fixed(metrics[MAIN], 4)}. A relevant document is first for "
        f"{is_first.sum():,} of {count(len(lists.rows), 'query').replace('querys', 'queries')}.",
        warnings=[*cautions, *warnings.of_unseen(leaked, metrics, split=predictions.split, unit="list", metric=MAIN)],
        remarks=remarks,
        facts={**{NAMES[name]: fixed(metrics[name], 4) for name in NAMES if name != MAIN}, **of_members},
    )


def _compared(metrics: dict[str, float]) -> Section:
    table = [
        [shown, fixed(metrics[name], 4), _interval(metrics, name), fixed(metrics[f"baseline_{name}"], 4)]
        for name, shown in NAMES.items()
    ]
    words = Text(
        "Means over the queries. Of documents with equal scores, the less relevant count as ranked first. BM25 orders "
        "the same documents by the words that they share with the query."
    )
    return Section("Comparison with BM25", [words, Table(["", "model", "95% interval", "BM25"], table)])


def _by_size(lists: RankedLists, baseline: RankedLists) -> Section:
    """Return the metrics by the number of documents, in at most four groups."""
    edges = np.unique(np.quantile(lists.sizes, [0, 0.25, 0.5, 0.75]).astype(int))
    groups = np.searchsorted(edges, lists.sizes, side="right") - 1
    table = []
    for group in np.unique(groups):
        here = groups == group
        low, high = lists.sizes[here].min(), lists.sizes[here].max()
        means = [fixed(float(found.metrics[MAIN][here].mean()), 4) for found in (lists, baseline)]
        table.append([str(low) if low == high else f"{low} to {high}", int(here.sum()), *means])
    return Section(f"nDCG@{AT} by number of documents", [Table(["documents", "queries", "model", "BM25"], table)])


def _worst(lists: RankedLists) -> Section:
    quality, title = lists.metrics[MAIN], f"Queries with the lowest nDCG@{AT}"
    wrong = np.flatnonzero(quality < 1)
    worst = wrong[np.argsort(quality[wrong], kind="stable")][:MAX_ERRORS_SHOWN]
    if not len(worst):
        return Section(title, [Text("Every list is in the best order.")])
    words = (
        f"{shown_count(len(worst), len(wrong))}, the lowest nDCG@{AT} first: the query, the top document and the most "
        "relevant document with their ranks. The file may lack a relevant document."
    )
    order = lists.ranks
    return Section(title, [Text(words), Marked([line for row in worst for line in _marked(lists, order, row)])])


def _marked(lists: RankedLists, order: np.ndarray, number: int) -> Iterator[tuple[str, Sequence[Piece]]]:
    row, documents = lists.rows[number], lists.rows[number][DOCUMENTS]
    ranked = order[number, : len(documents)]
    top = int(ranked.argmin())
    relevant = min(range(len(documents)), key=lambda index: (-lists.grades[number, index], ranked[index]))
    yield location(row), [Piece(row[QUERY][:MAX_CHARACTERS])]
    for index, kind in {top: "wrong", relevant: "missed"}.items():
        yield f"rank {ranked[index]:.0f}", [Piece(documents[index][:MAX_CHARACTERS], kind)]


def _lines(predictions: SplitPredictions) -> Iterator[dict[str, Any]]:
    for row, scores in zip(predictions.rows, predictions.values["scores"], strict=True):
        yield {**row, "scores": [round(float(score), 6) for score in scores[: len(row[DOCUMENTS])]]}
