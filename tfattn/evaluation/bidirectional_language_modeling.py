"""The evaluation of language models of both directions: perplexity, compared with a guess by frequency."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfattn.data.split_config import TRAIN
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.report import Headline, Section, Table
from tfattn.evaluation.token_frequencies import counted, surprise
from tfattn.evaluation.wording import count, number
from tfattn.features import WEIGHTS
from tfattn.tasks.bidirectional_language_modeling import FORWARD, BidirectionalLanguageModeling
from tfattn.tasks.text_metrics import perplexity
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate a language model of both directions on the texts of a split.

    Args:
        ensemble: one model, whose task is a BidirectionalLanguageModeling.
        predictions: the metrics of the split's records.

    Returns:
        a report whose metrics are those of the task; `num_words`, of how many words forward they are; and
        `baseline_perplexity`, that of a guess by how often each word stands in the training texts.
    """
    task, vocabulary_size = ensemble.task, len(ensemble.preprocessor.tokens)
    in_training, measured = (
        counted(predictions.reader(split), lambda batch: _told(task, batch), vocabulary_size)
        for split in (TRAIN, predictions.split)
    )
    num_words = int(measured.sum())
    baseline = perplexity(surprise(in_training, measured), num_words)
    metrics = {**predictions.metrics, "num_words": num_words, "baseline_perplexity": baseline}
    rows = [
        ["forward, from the words before", number(metrics["forward_perplexity"])],
        ["backward, from the words after it", number(metrics["backward_perplexity"])],
        ["both together", number(metrics["perplexity"])],
        ["a guess by frequency, forward", number(baseline)],
    ]
    return TaskReport(
        question="which word is here?",
        measured=f"{count(num_words, 'word')} of {count(len(predictions.rows), f'{predictions.split} text')}",
        metrics=metrics,
        predictions=[],
        headline=_headline(metrics, vocabulary_size),
        sections=[Section("Perplexity of a word", [Table(["", "perplexity"], rows)])],
        unit="text",
        summary=f"perplexity {number(metrics['perplexity'])} of a word (by frequency: {number(baseline)})",
        baselines={"perplexity": baseline},
    )


def _headline(metrics: dict[str, float], vocabulary_size: int) -> Headline:
    is_better = metrics["perplexity"] < metrics["baseline_perplexity"]
    return Headline(
        metric=number(metrics["perplexity"]),
        sentence=f"{number(metrics['perplexity'])} is the perplexity of a word, in both directions together.",
        warnings=[]
        if is_better
        else ["It is not better than a guess by how often each word stands in training texts."],
        remarks=[
            f"A guess by how often each word stands in training texts has {number(metrics['baseline_perplexity'])}.",
            "Perplexities can be compared where texts and words are the same. How good vectors are shows where they "
            "are used.",
        ],
        facts={"words that are told apart": f"{vocabulary_size:,}"},
    )


def _told(task: BidirectionalLanguageModeling, batch: Mapping[str, Any]) -> np.ndarray:
    """Return the words of a batch that are to be told forward: (N,)."""
    batch = {WEIGHTS: np.ones(len(batch["token_ids"]), np.float32), **batch}
    is_told = np.asarray(task.loss_weights(batch)[FORWARD]) > 0
    return np.asarray(batch["token_ids"])[:, 1:][is_told]
