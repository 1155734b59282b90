"""The evaluation of pre-training: masked token prediction, compared with a unigram baseline."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfattn.data.split_config import TRAIN
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.language_modeling import count_tokens, unigram_loss
from tfattn.evaluation.report import Headline, Section, Table, Text
from tfattn.evaluation.wording import count, number, percent, percents
from tfattn.features import MASKED_LM_IDS, MASKED_LM_WEIGHTS
from tfattn.tasks.intervals import counted_fraction
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.masked_questions import sample_questions, with_mask_tokens
from tfattn.trained.predictions import SplitPredictions
from tfattn.training.losses import LOSS

ACCURACY, NEXT_SENTENCE = "masked_lm_accuracy", "next_sentence_accuracy"
SHOWN, TOP_TOKENS = 20, 5  # texts, and tokens of each


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate a pre-trained encoder on masked tokens and, if it was trained for it, on next sentence prediction.

    Args:
        ensemble: a single trained model of a MaskedLm or a BertPretraining.
        predictions: the metrics of the split's records.

    Returns:
        a report whose metrics are those of the task; `masked_lm_loss`, in nats per token, and
        `masked_lm_perplexity`; the 95 % interval of the accuracy; and `baseline_masked_lm_accuracy` and
        `baseline_masked_lm_loss` of a unigram baseline from the masked training tokens.
    """
    vocabulary_size = ensemble.task.model.token_embeddings.num_rows
    in_training, measured = (
        count_tokens(predictions.reader(split), _masked_ids, vocabulary_size) for split in (TRAIN, predictions.split)
    )
    # Losses with several terms have a name per term, see training/losses.py.
    term = next((name for name in predictions.metrics if name.startswith(f"{LOSS}/masked_lm")), LOSS)
    loss = predictions.metrics[term]
    metrics = {
        **predictions.metrics,
        **counted_fraction(ACCURACY, round(predictions.metrics[ACCURACY] * measured.sum()), int(measured.sum())),
        "masked_lm_loss": loss,
        "masked_lm_perplexity": math.exp(min(loss, 700.0)),
        **_baseline(in_training, measured),
    }
    filled = list(_filled(with_mask_tokens(ensemble), predictions.rows))
    return TaskReport(
        question="which tokens are masked?",
        measured=f"{count(int(measured.sum()), 'masked token')} of "
        f"{count(len(predictions.rows), f'{predictions.split} text')}",
        metrics=metrics,
        predictions=filled,
        headline=_headline(metrics, ensemble.preprocessor.tokens[int(in_training.argmax())]),
        sections=[_baseline_table(metrics), _samples(filled)],
        unit="text",
        summary=f"{percent(metrics[ACCURACY])} of the masked tokens are correct "
        f"(most frequent token: {percent(metrics[f'baseline_{ACCURACY}'])}), "
        f"loss {loss:.3f} (unigram baseline: {metrics['baseline_masked_lm_loss']:.3f})"
        + (f", next sentence accuracy: {percent(metrics[NEXT_SENTENCE])}" if NEXT_SENTENCE in metrics else ""),
        baselines={ACCURACY: metrics[f"baseline_{ACCURACY}"], term: metrics["baseline_masked_lm_loss"]},
    )


def _masked_ids(batch: Mapping[str, Any]) -> np.ndarray:
    """Return the masked tokens of a batch: (N,)."""
    return batch[MASKED_LM_IDS].numpy()[batch[MASKED_LM_WEIGHTS].numpy() > 0]


def _baseline(in_training: np.ndarray, measured: np.ndarray) -> dict[str, float]:
    """Compute accuracy and loss of the unigram baseline."""
    total = max(measured.sum(), 1.0)
    return {
        f"baseline_{ACCURACY}": float(measured[in_training.argmax()] / total),
        "baseline_masked_lm_loss": float(unigram_loss(in_training, measured) / total),
    }


def _headline(metrics: dict[str, float], most_frequent: str) -> Headline:
    low, high = metrics[f"{ACCURACY}_low"], metrics[f"{ACCURACY}_high"]
    baseline = metrics[f"baseline_{ACCURACY}"]
    facts = {
        "loss, in nats per masked token": number(metrics["masked_lm_loss"]),
        "perplexity": number(metrics["masked_lm_perplexity"]),
    }
    if NEXT_SENTENCE in metrics:
        facts["next sentence accuracy (chance: 50%)"] = percent(metrics[NEXT_SENTENCE])
    return Headline(
        metric=percent(metrics[ACCURACY]),
        sentence=f"{percent(metrics[ACCURACY])} of the masked tokens are the top prediction of the model.",
        warnings=[f"It is not better than always predicting “{most_frequent}”, the most frequent token."]
        if low <= baseline
        else [],
        remarks=[
            f"Baseline: always predicting “{most_frequent}”, the most frequent token, has an accuracy of "
            f"{percent(baseline)}; token frequencies have a loss of {number(metrics['baseline_masked_lm_loss'])}.",
            f"The 95% confidence interval of the accuracy is {percents(low, high)}.",
            "Accuracies are comparable only with the same vocabulary and masked tokens.",
        ],
        facts=facts,
    )


def _baseline_table(metrics: dict[str, float]) -> Section:
    rows = [
        ["masked token accuracy", percent(metrics[ACCURACY]), percent(metrics[f"baseline_{ACCURACY}"])],
        ["loss, in nats", number(metrics["masked_lm_loss"]), number(metrics["baseline_masked_lm_loss"])],
    ]
    if NEXT_SENTENCE in metrics:
        rows.append(["next sentence accuracy", percent(metrics[NEXT_SENTENCE]), percent(0.5)])
    return Section("Comparison with the baseline", [Table(["", "model", "baseline"], rows)])


def _filled(ensemble: TrainedEnsemble, rows: Sequence[dict[str, str]]) -> Iterator[dict[str, Any]]:
    (field,) = ensemble.preprocessor.fields
    asked = sample_questions(ensemble, rows, limit=SHOWN)
    predicted = ensemble.predict([{field: question.text} for question in asked])
    tokens = np.array(ensemble.preprocessor.tokens, object)
    for row, question in enumerate(asked):
        found = tokens[predicted["token_ids"][row, 0]].tolist()
        scores = [round(float(score), 6) for score in predicted["scores"][row, 0]]
        yield {
            "row": question.row,
            "text": question.text,
            "hidden": " ".join(question.hidden),
            "tokens": found,
            "scores": scores,
        }


def _samples(filled: Sequence[dict[str, Any]]) -> Section:
    rows = []
    for question in filled:
        top = list(zip(question["tokens"], question["scores"], strict=True))[:TOP_TOKENS]
        rows.append([question["text"], question["hidden"], ", ".join(f"{token} {score:.2f}" for token, score in top)])
    words = (
        "Top predictions with probabilities for masked words of some texts. A word that is not a single token of the "
        "vocabulary cannot be predicted."
    )
    return Section("Predictions for [MASK]", [Text(words), Table(["text", "masked", "top predictions"], rows)])
