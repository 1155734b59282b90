"""The evaluation of language models of both directions: perplexity, compared with a guess by frequency."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfattn.data.split_config import TRAIN
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.report import Headline, Section, Table
from tfattn.evaluation.token_frequencies import count_tokens, unigram_loss
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
        count_tokens(predictions.reader(split), lambda batch: _predicted_tokens(task, batch), vocabulary_size)
        for split in (TRAIN, predictions.split)
    )
    num_words = int(measured.sum())
    baseline = perplexity(unigram_loss(in_training, measured), num_words)
    metrics = {**predictions.metrics, "num_words": num_words, "baseline_perplexity": baseline}
    rows = [
        ["forward", number(metrics["forward_perplexity"])],
        ["backward", number(metrics["backward_perplexity"])],
        ["both directions", number(metrics["perplexity"])],
        ["unigram baseline, forward", number(baseline)],
    ]
    return TaskReport(
        question="which word is here?",
        measured=f"{count(num_words, 'word')} of {count(len(predictions.rows), f'{predictions.split} text')}",
        metrics=metrics,
        predictions=[],
        headline=_headline(metrics, vocabulary_size),
        sections=[Section("Perplexity of a word", [Table(["", "perplexity"], rows)])],
        unit="text",
        summary=f"perplexity {number(metrics['perplexity'])} of a word (unigram baseline: {number(baseline)})",
        baselines={"perplexity": baseline},
    )


def _headline(metrics: dict[str, float], vocabulary_size: int) -> Headline:
    is_better = metrics["perplexity"] < metrics["baseline_perplexity"]
    return Headline(
        metric=number(metrics["perplexity"]),
        sentence=f"{number(metrics['perplexity'])} is the word perplexity, averaged over both directions.",
        warnings=[] if is_better else ["It is not better than word frequencies of the training texts."],
        remarks=[
            f"Baseline: word frequencies of the training texts have a perplexity of "
            f"{number(metrics['baseline_perplexity'])}.",
            "Perplexities are comparable on the same texts and vocabulary. Evaluate the vectors on a downstream task.",
        ],
        facts={"vocabulary size": f"{vocabulary_size:,}"},
    )


def _predicted_tokens(task: BidirectionalLanguageModeling, batch: Mapping[str, Any]) -> np.ndarray:
    """Return the words of a batch that are predicted forward: (N,)."""
    batch = {WEIGHTS: np.ones(len(batch["token_ids"]), np.float32), **batch}
    is_predicted = np.asarray(task.loss_weights(batch)[FORWARD]) > 0
    return np.asarray(batch["token_ids"])[:, 1:][is_predicted]
