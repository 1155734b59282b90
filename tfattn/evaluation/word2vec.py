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
FIRST = 100  # words that are in every text are shown neither with neighbors nor on the map, where there are more
MIN_DRAWN = 3
PREDICTED = {"skip_gram": "a pair of words that are near each other", "cbow": "a word, given the words around it"}


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate word vectors on the texts of a split.

    Args:
        ensemble: one model, whose task is a Word2Vec.
        predictions: the metrics of the split's records.

    Returns:
        a report whose metrics are the loss of a pair of words, or of a word by those around it, and
        `baseline_loss`, that of vectors that know nothing.
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
        warnings=[] if is_better else ["That is not better than vectors that know nothing."],
        remarks=[
            f"Vectors that know nothing have {guess}.",
            "Losses can be compared where vocabulary, window and objective are the same. How good vectors are shows "
            "where they are used; `tfattn word-similarity` and `tfattn word-analogies` tell it by the usual files.",
        ],
        facts={"words": f"{len(vectors):,}", "numbers of a vector": f"{vectors.width:,}"},
    )
    return TaskReport(
        question="which words are alike?",
        measured=f"{count(len(vectors), 'word')} of {count(len(predictions.rows), f'{predictions.split} text')}",
        metrics=metrics,
        predictions=[],
        headline=headline,
        sections=[_neighbors(vectors), _map(vectors)],
        unit="text",
        summary=f"loss {loss} of {predicted} (of vectors that know nothing: {guess})",
        baselines={LOSS: metrics["baseline_loss"]},
    )


def _neighbors(vectors: WordVectors) -> Section:
    """Show the nearest words of some words, taken evenly by their rank from frequent to rare."""
    first = _first(vectors)
    ranks = np.unique(np.geomspace(first + 1, len(vectors), min(MAX_SHOWN, len(vectors) - first)).astype(int)) - 1
    rows = []
    for rank in ranks.tolist():
        near = vectors.neighbors(vectors.words[rank], k=NEIGHBORS)
        found = ", ".join(f"{one.word} {one.score:.2f}" for one in near)
        rows.append([vectors.words[rank], f"{vectors.counts[rank]:,}", found])
    return Section("Nearest words, from frequent to rare", [Table(["word", "times", "nearest by angle"], rows)])


def _map(vectors: WordVectors) -> Section:
    words = vectors.words[_first(vectors) :][:MAX_DRAWN]
    if len(words) < MIN_DRAWN:
        return Section("Map of frequent words", [Text("There are too few words for a map.")])
    picture = Picture("words", svg(word_map(vectors, words)), "frequent words, as near to each other as a plane allows")
    return Section("Map of frequent words", [picture])


def _first(vectors: WordVectors) -> int:
    """Return the rank of the first word that is shown."""
    return FIRST if len(vectors) > 10 * FIRST else 0
