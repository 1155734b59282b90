"""The evaluation of text embeddings: similarity scores of pairs, or retrieval of the positive text."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tfattn.drawing.colours import BLUE
from tfattn.drawing.figures import new_figure, styled, svg
from tfattn.evaluation import retrieval, warnings
from tfattn.evaluation.baseline_models import text_vectorizer
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.matryoshka import shorter_vectors
from tfattn.evaluation.plots import plain_numbers
from tfattn.evaluation.report import Headline, Panels, Picture, Section, Table, Text
from tfattn.evaluation.row_predictions import MAX_ERRORS_SHOWN, RowFormat
from tfattn.evaluation.wording import between, count
from tfattn.features import EMBEDDING, TARGET, TARGET_VALUES
from tfattn.rows import evenly_spaced, normalized
from tfattn.tasks.embedding import CORRELATIONS, Embedding
from tfattn.tasks.number_metrics import fisher, number_metrics, spearman
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

MAX_DOTS = 2000


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate text embeddings.

    Args:
        ensemble: a single trained model of an Embedding.
        predictions: `embedding` (n, N, D) and the targets `text_hashes` (n, N, 2) and, for scored pairs,
            `target_values` (n,).

    Returns:
        a report. Its metrics for scored pairs: `spearman` and `pearson` of the cosine with the score, with 95 %
        intervals; `baseline_spearman` and `baseline_pearson` of TF-IDF; `spearman/D` of vectors cut to each of the
        Matryoshka dimensions, and `spearman/FILE` of each of several files. For pairs without scores those of
        `retrieval.report`; none for single texts.
    """
    task: Embedding = ensemble.task
    if not task.metric_names:
        return _report_of_single_texts(task, predictions)
    return _report_of_scores(task, predictions) if task.scored else retrieval.report(task, predictions)


def _report_of_scores(task: Embedding, predictions: SplitPredictions) -> TaskReport:
    true, rows = predictions.targets[TARGET_VALUES], predictions.rows
    found = _cosines(predictions.values[EMBEDDING])
    baseline = tfidf_cosines(*([row[role] for row in rows] for role in task.columns))
    metrics = {name: value for name in CORRELATIONS for name, value in _with_interval(name, true, found).items()}
    metrics |= {f"baseline_{name}": _correlation(name, true, baseline) for name in CORRELATIONS}
    sizes = {size: _cosines(predictions.values[EMBEDDING][..., :size]) for size in task.dimensions}
    by_size = {size: spearman(true, cosines) for size, cosines in sizes.items()}
    files = _by_file(rows, true, found)
    if len(sizes) > 1:
        metrics |= {f"spearman/{size}": value for size, value in by_size.items()}
    metrics |= {f"spearman/{name}": value for name, (_, value) in files.items()}
    metrics |= _without_leaked(predictions.leaked, true, found)
    row_format = RowFormat(rows, task.columns, "text")
    sections = [_against(true, found, baseline), *shorter_vectors(by_size, "Spearman correlation")]
    if files:
        table = [[name, number, f"{value:.4f}"] for name, (number, value) in files.items()]
        sections.append(Section("Correlation by file", [Table(["file", "pairs", "Spearman"], table)]))
    interval = between(metrics["spearman_low"], metrics["spearman_high"])
    is_better = metrics["spearman"] > metrics["baseline_spearman"]
    return TaskReport(
        question="how similar are two texts?",
        measured=count(len(rows), f"{predictions.split} pair"),
        metrics=metrics,
        predictions=_lines(rows, true, found),
        headline=Headline(
            metric=f"{metrics['spearman']:.4f}",
            sentence=f"The Spearman correlation of cosine similarities and scores is {metrics['spearman']:.4f}.",
            warnings=[
                *([] if is_better else ["The similarity of TF-IDF vectors has a higher correlation."]),
                *warnings.of_unseen(
                    predictions.leaked, metrics, split=predictions.split, unit="pair", metric="spearman"
                ),
            ],
            remarks=[
                f"Baseline: cosines of TF-IDF vectors have a correlation of {metrics['baseline_spearman']:.4f}.",
                f"The 95% confidence interval is {interval}.",
            ],
            facts={"Pearson's correlation": f"{metrics['pearson']:.4f}", "dimensions": f"{task.dimensions[0]:,}"},
        ),
        sections=[*sections, _disagreements(row_format, true, found)],
        unit="pair",
        summary=f"Spearman {metrics['spearman']:.4f} (95% interval {interval}), TF-IDF "
        f"{metrics['baseline_spearman']:.4f}",
        baselines={"spearman": metrics["baseline_spearman"]},
    )


def _report_of_single_texts(task: Embedding, predictions: SplitPredictions) -> TaskReport:
    vectors = normalized(predictions.values[EMBEDDING][:, 0])
    mean = float(((vectors.sum(axis=0) ** 2).sum() - len(vectors)) / max(len(vectors) * (len(vectors) - 1), 1))
    words = "Single texts have no score. Evaluate the export on pairs of texts."
    return TaskReport(
        question="which texts are similar?",
        measured=count(len(vectors), f"{predictions.split} text"),
        metrics={"mean_cosine": mean},
        predictions=predictions.rows,
        headline=Headline(
            metric=f"{mean:.3f}",
            sentence=f"The mean cosine of two texts is {mean:.3f}.",
            warnings=[],
            remarks=[words],
            facts={"dimensions": f"{task.dimensions[0]:,}"},
        ),
        sections=[],
        unit="text",
        summary=f"mean cosine of two texts {mean:.3f}",
    )


def tfidf_cosines(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Compute the cosines (n,) of the TF-IDF vectors of n pairs of texts."""
    texts = pd.DataFrame({"text": [*first, *second]})
    vectors = text_vectorizer(texts).fit_transform(texts["text"])
    return np.asarray(vectors[: len(first)].multiply(vectors[len(first) :]).sum(axis=1)).ravel()


def _cosines(vectors: np.ndarray) -> np.ndarray:
    units = normalized(vectors)
    return np.einsum("nd,nd->n", units[:, 0], units[:, 1])


def _correlation(name: str, true: np.ndarray, found: np.ndarray) -> float:
    return spearman(true, found) if name == "spearman" else number_metrics(true, found)["pearson"]


def _with_interval(name: str, true: np.ndarray, found: np.ndarray) -> dict[str, float]:
    value = _correlation(name, true, found)
    low, high = fisher(value, len(true))
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _without_leaked(leaked: np.ndarray, true: np.ndarray, found: np.ndarray) -> dict[str, float]:
    metrics: dict[str, float] = {"leaked_rows": int(leaked.sum())}
    if leaked.any() and not leaked.all():
        without = _with_interval("spearman", true[~leaked], found[~leaked])
        metrics |= {name.replace("spearman", "spearman_without_leaked"): value for name, value in without.items()}
    return metrics


def _by_file(rows: Sequence[dict[str, str]], true: np.ndarray, found: np.ndarray) -> dict[str, tuple[int, float]]:
    """Return the number of pairs and the Spearman correlation of each file; nothing for a single file."""
    names = np.array([row["row"].rpartition(":")[0].rpartition("/")[2] for row in rows])
    if len(distinct := dict.fromkeys(names.tolist())) < 2:
        return {}
    return {
        name: (int((names == name).sum()), spearman(true[names == name], found[names == name])) for name in distinct
    }


def _against(true: np.ndarray, found: np.ndarray, baseline: np.ndarray) -> Section:
    pictures = [
        Picture("cosine", svg(cosine_by_score(true, found, "Embedding")), "cosine similarity by score"),
        Picture("cosine_baseline", svg(cosine_by_score(true, baseline, "TF-IDF")), "TF-IDF similarity by score"),
    ]
    words = "The correlation is high if similarities rise with scores; it does not matter how fast they rise."
    return Section("Cosine similarity by gold score", [Text(words), Panels(pictures)])


def _disagreements(row_format: RowFormat, true: np.ndarray, found: np.ndarray) -> Section:
    difference = _ranks(found) - _ranks(true)
    largest = np.argsort(-np.abs(difference), kind="stable")[:MAX_ERRORS_SHOWN]
    values = {"score": true, "cosine": found, "ranks apart": difference.astype(float)}
    columns = {name: [round(float(value), 3) for value in column[largest]] for name, column in values.items()}
    words = "Pairs are ranked by score and by cosine. A positive difference: the cosine is too high."
    return Section("Largest disagreements", [Text(words), row_format.table(largest, columns)])


def _ranks(values: np.ndarray) -> np.ndarray:
    return pd.Series(values).rank().to_numpy()


def _lines(rows: Sequence[dict[str, str]], true: np.ndarray, found: np.ndarray) -> Iterator[dict[str, Any]]:
    for row, score, cosine in zip(rows, true, found, strict=True):
        yield {**row, TARGET: float(score), "cosine": round(float(cosine), 6)}


@styled
def cosine_by_score(true: np.ndarray, found: np.ndarray, title: str) -> Figure:
    """Plot similarities against scores, (n,) each."""
    chosen = np.array(evenly_spaced(np.argsort(true, kind="stable").tolist(), MAX_DOTS))
    figure = new_figure(4.2, 3.6)
    axes = figure.add_subplot()
    axes.scatter(true[chosen], found[chosen], s=12, color=BLUE, alpha=0.5, linewidths=0)
    axes.set_title(title)
    axes.set_xlabel("score")
    axes.set_ylabel("cosine")
    axes.xaxis.set_major_formatter(plain_numbers())
    axes.yaxis.set_major_formatter(plain_numbers())
    return figure
