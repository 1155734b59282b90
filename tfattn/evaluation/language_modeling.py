"""The evaluation of language models: the loss of the next token, compared with a guess by frequency."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfattn.data.split_config import TRAIN
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.report import Headline, Section, Table
from tfattn.evaluation.token_frequencies import counted, surprise
from tfattn.evaluation.wording import count, number
from tfattn.features import TEXT, WEIGHTS
from tfattn.formats.chat_template import ChatTemplate
from tfattn.tasks.language_modeling import CROSS_ENTROPY, LanguageModeling
from tfattn.tasks.text_metrics import perplexity
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions
from tfattn.trained.text_generator import TextGenerator, sample_answers, sample_prompts
from tfattn.training.losses import LOSS

BITS = "bits_per_byte"
MAX_SHOWN = 8
ANSWER_TOKENS = 32


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate a language model on the texts of a split.

    Args:
        ensemble: one model, whose task is a LanguageModeling.
        predictions: the metrics of the split's records.

    Returns:
        a report whose metrics are those of the task; `num_tokens`, of how many tokens they are; and `baseline_loss`, in
        nats a token, `baseline_perplexity` and `baseline_bits_per_byte` of a guess by how often each token stands in
        the training texts.
    """
    task, vocabulary_size = ensemble.task, len(ensemble.preprocessor.tokens)
    in_training, measured = (
        counted(predictions.reader(split), lambda batch: _told(task, batch), vocabulary_size)
        for split in (TRAIN, predictions.split)
    )
    metrics = {**predictions.metrics, "num_tokens": int(measured.sum())}
    nats = surprise(in_training, measured)
    size = float(measured @ np.array([len(token) for token in ensemble.preprocessor.token_bytes]))
    metrics |= {
        "baseline_loss": nats / max(metrics["num_tokens"], 1),
        "baseline_perplexity": perplexity(nats, metrics["num_tokens"]),
        f"baseline_{BITS}": nats / math.log(2) / max(size, 1.0),
    }
    texts = count(len(predictions.rows), f"{predictions.split} text")
    return TaskReport(
        question="what comes next?",
        measured=f"{count(metrics['num_tokens'], 'token')} of {texts}",
        metrics=metrics,
        predictions=[],
        headline=_headline(metrics),
        sections=[_beside(metrics), _continued(ensemble, predictions)],
        unit="text",
        summary=f"{number(metrics[BITS])} bits per byte, perplexity {number(metrics['perplexity'])} of a token and "
        f"{number(metrics['word_perplexity'])} of a word (by frequency: {number(metrics[f'baseline_{BITS}'])} bits per "
        f"byte, perplexity {number(metrics['baseline_perplexity'])})",
        baselines={LOSS: metrics["baseline_loss"], BITS: metrics[f"baseline_{BITS}"]},
    )


def _told(task: LanguageModeling, batch: Mapping[str, Any]) -> np.ndarray:
    """Return the tokens of a batch that are predicted: (N,)."""
    batch = {WEIGHTS: np.ones(len(batch["token_ids"]), np.float32), **batch}
    is_told = np.asarray(task.loss_weights(batch)[CROSS_ENTROPY]) > 0
    return np.asarray(batch["token_ids"])[:, 1:][is_told]


def _headline(metrics: dict[str, float]) -> Headline:
    is_better = metrics[LOSS] < metrics["baseline_loss"]
    return Headline(
        metric=number(metrics[BITS]),
        sentence=f"{number(metrics[BITS])} bits are needed for each byte of the texts.",
        warnings=[]
        if is_better
        else ["It is not better than a guess by how often each token stands in training texts."],
        remarks=[
            f"A guess by how often each token stands in training texts needs {number(metrics[f'baseline_{BITS}'])}.",
            "Bits per byte, and perplexities of a word, can be compared where the texts are the same; losses and "
            "perplexities of a token only where the vocabulary is the same too.",
        ],
        facts={
            "perplexity of a token": number(metrics["perplexity"]),
            "perplexity of a word between spaces": number(metrics["word_perplexity"]),
            "loss, in nats a token": number(metrics[LOSS]),
        },
    )


def _beside(metrics: dict[str, float]) -> Section:
    rows = [
        ["bits per byte", number(metrics[BITS]), number(metrics[f"baseline_{BITS}"])],
        ["perplexity of a token", number(metrics["perplexity"]), number(metrics["baseline_perplexity"])],
        ["loss, in nats a token", number(metrics[LOSS]), number(metrics["baseline_loss"])],
    ]
    return Section("Comparison with the baseline", [Table(["", "model", "by frequency alone"], rows)])


def _continued(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> Section:
    """Show how some texts go on, by the model's most likely tokens; of chats, what it answers."""
    if TEXT not in predictions.rows[0]:
        return _answers(ensemble, predictions)
    asked = sample_prompts(predictions.rows, limit=MAX_SHOWN)
    written = TextGenerator(ensemble).texts(asked)
    rows = [[one["row"], one[TEXT], text] for one, text in zip(asked, written, strict=True)]
    return Section("Greedy continuations", [Table(["", "text", "goes on"], rows)])


def _answers(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> Section:
    chats = sample_answers(predictions.rows, limit=MAX_SHOWN)
    template = ChatTemplate(system=ensemble.task.generation.system)
    written = TextGenerator(ensemble, max_new_tokens=ANSWER_TOKENS).answers([said for _, said, _ in chats], template)
    rows = [
        [row, said[-1].content if said else "", text, right]
        for (row, said, right), text in zip(chats, written, strict=True)
    ]
    title = f"What it answers, with the most likely token each time, {ANSWER_TOKENS} at most"
    return Section(title, [Table(["", "asked", "its answer", "the answer given"], rows)])
