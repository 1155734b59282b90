"""The evaluation of language models, of one or both directions: token loss, compared with a unigram baseline."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfattn.data.reader import Reader
from tfattn.data.split_config import TRAIN
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.report import Headline, Section, Table
from tfattn.evaluation.wording import count, number
from tfattn.features import TEXT, WEIGHTS
from tfattn.tasks.bidirectional_language_modeling import FORWARD, BidirectionalLanguageModeling
from tfattn.tasks.language_modeling import CROSS_ENTROPY, LanguageModeling
from tfattn.tasks.text_metrics import perplexity
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions
from tfattn.trained.text_generator import TextGenerator, sample_answers, sample_prompts
from tfattn.training.losses import LOSS

BITS = "bits_per_byte"
MAX_SHOWN = 8
ANSWER_TOKENS = 32
MAX_BATCHES = 1000  # of records for token frequencies


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
    in_training, measured = _count_predicted(task, CROSS_ENTROPY, predictions, vocabulary_size)
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


def _count_predicted(
    task: LanguageModeling | BidirectionalLanguageModeling,
    loss: str,
    predictions: SplitPredictions,
    vocabulary_size: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Count the tokens that a loss predicts in the training split and in the evaluated split, (V,) each."""

    def predicted(batch: Mapping[str, Any]) -> np.ndarray:
        batch = {WEIGHTS: np.ones(len(batch["token_ids"]), np.float32), **batch}
        return np.asarray(batch["token_ids"])[:, 1:][np.asarray(task.loss_weights(batch)[loss]) > 0]

    in_training, measured = (
        count_tokens(predictions.reader(split), predicted, vocabulary_size) for split in (TRAIN, predictions.split)
    )
    return in_training, measured


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
        return greedy_answers(ensemble, predictions)
    asked = sample_prompts(predictions.rows, limit=MAX_SHOWN)
    written = TextGenerator(ensemble).texts(asked)
    rows = [[row["row"], row[TEXT], text] for row, text in zip(asked, written, strict=True)]
    return Section("Greedy continuations", [Table(["", "text", "continuation"], rows)])


def greedy_answers(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> Section:
    """Return greedy answers to some chats, next to the answers of the data."""
    chats = sample_answers(predictions.rows, limit=MAX_SHOWN)
    template = ensemble.preprocessor.chat_template(ensemble.task.generation.system)
    generator = TextGenerator(ensemble, max_tokens=ANSWER_TOKENS)
    written = generator.answers([messages for _, messages, _ in chats], template)
    rows = [
        [row, messages[-1].content if messages else "", text, right]
        for (row, messages, right), text in zip(chats, written, strict=True)
    ]
    title = f"Greedy answers, at most {ANSWER_TOKENS} tokens"
    return Section(title, [Table(["", "question", "answer", "reference"], rows)])


def report_bidirectional(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate a bidirectional language model on the texts of a split.

    Args:
        ensemble: a single trained model of a BidirectionalLanguageModeling.
        predictions: the metrics of the split's records.

    Returns:
        a report whose metrics are those of the task; `num_words`, the number of words that are predicted forward; and
        `baseline_perplexity` of word frequencies in the training texts.
    """
    task, vocabulary_size = ensemble.task, len(ensemble.preprocessor.tokens)
    in_training, measured = _count_predicted(task, FORWARD, predictions, vocabulary_size)
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
        headline=_bidirectional_headline(metrics, vocabulary_size),
        sections=[Section("Word perplexity", [Table(["", "perplexity"], rows)])],
        unit="text",
        summary=f"perplexity {number(metrics['perplexity'])} of a word (unigram baseline: {number(baseline)})",
        baselines={"perplexity": baseline},
    )


def _bidirectional_headline(metrics: dict[str, float], vocabulary_size: int) -> Headline:
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


def count_tokens(
    reader: Reader, tokens_of: Callable[[Mapping[str, Any]], np.ndarray], vocabulary_size: int
) -> np.ndarray:
    """Count how often each token is predicted in the records of a split.

    Args:
        reader: the reader of the records.
        tokens_of: returns the ids (N,) of the predicted tokens of a batch.
        vocabulary_size: V.

    Returns:
        (V,) float64.
    """
    counts = np.zeros(vocabulary_size)
    for batch in reader.dataset(0).take(MAX_BATCHES):
        counts += np.bincount(tokens_of(batch), minlength=vocabulary_size)
    return counts


def unigram_loss(in_training: np.ndarray, measured: np.ndarray) -> float:
    """Compute the loss of the training frequencies, summed over all evaluated tokens, in nats.

    Counts are smoothed by adding one.

    Args:
        in_training, measured: (V,), see `count_tokens`.
    """
    likely = (in_training + 1) / (in_training + 1).sum()
    return float(-(measured * np.log(likely)).sum())
