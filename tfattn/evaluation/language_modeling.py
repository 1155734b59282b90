"""The evaluation of language models: next token loss, compared with a unigram baseline."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfattn.data.split_config import TRAIN
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.report import Headline, Section, Table
from tfattn.evaluation.token_frequencies import count_tokens, unigram_loss
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
        ensemble: a single trained model of a LanguageModeling.
        predictions: the metrics of the split's records.

    Returns:
        a report whose metrics are those of the task; `num_tokens`, the number of evaluated tokens; and
        `baseline_loss`, in nats per token, `baseline_perplexity` and `baseline_bits_per_byte` of token frequencies in
        the training texts.
    """
    task, vocabulary_size = ensemble.task, len(ensemble.preprocessor.tokens)
    in_training, measured = (
        count_tokens(predictions.reader(split), lambda batch: _predicted_tokens(task, batch), vocabulary_size)
        for split in (TRAIN, predictions.split)
    )
    metrics = {**predictions.metrics, "num_tokens": int(measured.sum())}
    nats = unigram_loss(in_training, measured)
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
        sections=[_baseline_table(metrics), _continued(ensemble, predictions)],
        unit="text",
        summary=f"{number(metrics[BITS])} bits per byte, perplexity {number(metrics['perplexity'])} of a token and "
        f"{number(metrics['word_perplexity'])} of a word (unigram baseline: {number(metrics[f'baseline_{BITS}'])} "
        f"bits per "
        f"byte, perplexity {number(metrics['baseline_perplexity'])})",
        baselines={LOSS: metrics["baseline_loss"], BITS: metrics[f"baseline_{BITS}"]},
    )


def _predicted_tokens(task: LanguageModeling, batch: Mapping[str, Any]) -> np.ndarray:
    """Return the tokens of a batch that are predicted: (N,)."""
    batch = {WEIGHTS: np.ones(len(batch["token_ids"]), np.float32), **batch}
    is_predicted = np.asarray(task.loss_weights(batch)[CROSS_ENTROPY]) > 0
    return np.asarray(batch["token_ids"])[:, 1:][is_predicted]


def _headline(metrics: dict[str, float]) -> Headline:
    is_better = metrics[LOSS] < metrics["baseline_loss"]
    return Headline(
        metric=number(metrics[BITS]),
        sentence=f"{number(metrics[BITS])} bits per byte are needed to encode the texts.",
        warnings=[] if is_better else ["It is not better than token frequencies of the training texts."],
        remarks=[
            f"Baseline: token frequencies of the training texts need {number(metrics[f'baseline_{BITS}'])}.",
            "Bits per byte and word perplexities are comparable on the same texts; losses and token perplexities only "
            "with the same vocabulary.",
        ],
        facts={
            "token perplexity": number(metrics["perplexity"]),
            "word perplexity (split at spaces)": number(metrics["word_perplexity"]),
            "loss, in nats per token": number(metrics[LOSS]),
        },
    )


def _baseline_table(metrics: dict[str, float]) -> Section:
    rows = [
        ["bits per byte", number(metrics[BITS]), number(metrics[f"baseline_{BITS}"])],
        ["token perplexity", number(metrics["perplexity"]), number(metrics["baseline_perplexity"])],
        ["loss, in nats per token", number(metrics[LOSS]), number(metrics["baseline_loss"])],
    ]
    return Section("Comparison with the baseline", [Table(["", "model", "baseline"], rows)])


def _continued(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> Section:
    """Return greedy continuations of some texts, or greedy answers to chats."""
    if TEXT not in predictions.rows[0]:
        return _answers(ensemble, predictions)
    asked = sample_prompts(predictions.rows, limit=MAX_SHOWN)
    written = TextGenerator(ensemble).texts(asked)
    rows = [[row["row"], row[TEXT], text] for row, text in zip(asked, written, strict=True)]
    return Section("Greedy continuations", [Table(["", "text", "continuation"], rows)])


def _answers(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> Section:
    chats = sample_answers(predictions.rows, limit=MAX_SHOWN)
    template = ChatTemplate(system=ensemble.task.generation.system)
    generator = TextGenerator(ensemble, max_new_tokens=ANSWER_TOKENS)
    written = generator.answers([messages for _, messages, _ in chats], template)
    rows = [
        [row, messages[-1].content if messages else "", text, right]
        for (row, messages, right), text in zip(chats, written, strict=True)
    ]
    title = f"Greedy answers, at most {ANSWER_TOKENS} tokens"
    return Section(title, [Table(["", "question", "answer", "reference"], rows)])
