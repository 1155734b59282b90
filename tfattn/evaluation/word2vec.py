"""The evaluation of word vectors: their loss, and the nearest words of some words."""

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.report import Headline, Picture, Section, Table, Text
from tfattn.evaluation.wording import count, number
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions
from tfattn.training.losses import LOSS
from tfattn.vectors.word_map import word_map
from tfattn.vectors.word_vectors import WordVectors

MAX_SHOWN, NEIGHBORS = 20, 6
MAX_DRAWN = 60
FIRST = 100  # frequent words to skip in neighbors and map, for large vocabularies
MIN_DRAWN = 3
PREDICTED = {"skip_gram": "a pair of words that are near each other", "cbow": "a word, given the words around it"}


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate word vectors on the texts of a split.

    Args:
        ensemble: a single trained model of a Word2Vec.
        predictions: the metrics of the split's records.

    Returns:
        a report whose metrics are the loss of a pair of words (skip-gram) or of a word (CBOW), and `baseline_loss` of
        zero vectors.
    """
    task, preprocessor = ensemble.task, ensemble.preprocessor
    vectors = WordVectors(preprocessor.words, task.word_vectors(), preprocessor.counts)
    metrics = {**predictions.metrics, "baseline_loss": task.objective.guess, "num_words": len(vectors)}
    loss, guess = number(metrics[LOSS]), number(metrics["baseline_loss"])
    is_better = metrics[LOSS] < metrics["baseline_loss"]
    predicted = PREDICTED[task.model.kind]
    headline = Headline(
        metric=loss,
        sentence=f"{loss} nats is the loss of {predicted}.",
        warnings=[] if is_better else ["It is not better than zero vectors."],
        remarks=[
            f"Baseline: zero vectors have a loss of {guess}.",
            "Losses are comparable only with the same vocabulary, window and objective. Evaluate the vectors with "
            "`tfattn word-similarity` and `tfattn word-analogies`, or on a downstream task.",
        ],
        facts={"words": f"{len(vectors):,}", "dimensions": f"{vectors.width:,}"},
    )
    return TaskReport(
        question="which words are alike?",
        measured=f"{count(len(vectors), 'word')} of {count(len(predictions.rows), f'{predictions.split} text')}",
        metrics=metrics,
        predictions=[],
        headline=headline,
        sections=[_neighbors(vectors), _map(vectors)],
        unit="text",
        summary=f"loss {loss} of {predicted} (zero vectors: {guess})",
        baselines={LOSS: metrics["baseline_loss"]},
    )


def _neighbors(vectors: WordVectors) -> Section:
    """Return the nearest words of some words, evenly spaced in log rank."""
    first = _first(vectors)
    ranks = np.unique(np.geomspace(first + 1, len(vectors), min(MAX_SHOWN, len(vectors) - first)).astype(int)) - 1
    rows = []
    for rank in ranks.tolist():
        near = vectors.neighbors(vectors.words[rank], k=NEIGHBORS)
        found = ", ".join(f"{neighbor.word} {neighbor.score:.2f}" for neighbor in near)
        rows.append([vectors.words[rank], f"{vectors.counts[rank]:,}", found])
    return Section("Nearest neighbors by word frequency", [Table(["word", "count", "nearest words (cosine)"], rows)])


def _map(vectors: WordVectors) -> Section:
    words = vectors.words[_first(vectors) :][:MAX_DRAWN]
    if len(words) < MIN_DRAWN:
        return Section("Projection of frequent words", [Text("There are too few words for a map.")])
    picture = Picture("words", svg(word_map(vectors, words)), "map of frequent words")
    return Section("Projection of frequent words", [picture])


def _first(vectors: WordVectors) -> int:
    """Return the rank of the first displayed word."""
    return FIRST if len(vectors) > 10 * FIRST else 0
