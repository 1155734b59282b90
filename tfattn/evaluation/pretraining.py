"""The evaluation of pre-training: hidden tokens found, compared with a guess by frequency."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfattn.data.split_config import TRAIN
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.report import Headline, Section, Table, Text
from tfattn.evaluation.token_frequencies import counted, surprise
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
    """Evaluate a pre-trained encoder on hidden tokens, and on pairs of segments where it was taught to tell them apart.

    Args:
        ensemble: one model, whose task is a MaskedLm or a BertPretraining.
        predictions: the metrics of the split's records.

    Returns:
        a report whose metrics are those of the task; `masked_lm_loss`, in nats a token, and `masked_lm_perplexity`; the
        95 % interval of the accuracy; and `baseline_masked_lm_accuracy` and `baseline_masked_lm_loss` of a guess by how
        often each token was hidden in training.
    """
    vocabulary_size = ensemble.task.model.token_embeddings.num_rows
    in_training, measured = (
        counted(predictions.reader(split), _hidden, vocabulary_size) for split in (TRAIN, predictions.split)
    )
    # Of several terms each has its name, see training/losses.py.
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
        question="which tokens were hidden?",
        measured=f"{count(int(measured.sum()), 'hidden token')} of "
        f"{count(len(predictions.rows), f'{predictions.split} text')}",
        metrics=metrics,
        predictions=filled,
        headline=_headline(metrics, ensemble.preprocessor.tokens[int(in_training.argmax())]),
        sections=[_beside(metrics), _samples(filled)],
        unit="text",
        summary=f"{percent(metrics[ACCURACY])} of the hidden tokens found "
        f"(most frequent token: {percent(metrics[f'baseline_{ACCURACY}'])}), "
        f"loss {loss:.3f} (by frequency: {metrics['baseline_masked_lm_loss']:.3f})"
        + (f", pairs told apart: {percent(metrics[NEXT_SENTENCE])}" if NEXT_SENTENCE in metrics else ""),
        baselines={ACCURACY: metrics[f"baseline_{ACCURACY}"], term: metrics["baseline_masked_lm_loss"]},
    )


def _hidden(batch: Mapping[str, Any]) -> np.ndarray:
    """Return the tokens of a batch that are hidden: (N,)."""
    return batch[MASKED_LM_IDS].numpy()[batch[MASKED_LM_WEIGHTS].numpy() > 0]


def _baseline(in_training: np.ndarray, measured: np.ndarray) -> dict[str, float]:
    """Guess by the frequencies in training."""
    total = max(measured.sum(), 1.0)
    return {
        f"baseline_{ACCURACY}": float(measured[in_training.argmax()] / total),
        "baseline_masked_lm_loss": float(surprise(in_training, measured) / total),
    }


def _headline(metrics: dict[str, float], most_frequent: str) -> Headline:
    low, high = metrics[f"{ACCURACY}_low"], metrics[f"{ACCURACY}_high"]
    baseline = metrics[f"baseline_{ACCURACY}"]
    facts = {
        "loss, in nats for each hidden token": number(metrics["masked_lm_loss"]),
        "perplexity": number(metrics["masked_lm_perplexity"]),
    }
    if NEXT_SENTENCE in metrics:
        facts["pairs told apart (half of them are right by chance)"] = percent(metrics[NEXT_SENTENCE])
    return Headline(
        metric=percent(metrics[ACCURACY]),
        sentence=f"{percent(metrics[ACCURACY])} of the hidden tokens are what the model finds most likely.",
        warnings=[f"It is not better than always saying “{most_frequent}”, the most frequent token."]
        if low <= baseline
        else [],
        remarks=[
            f"Always saying “{most_frequent}”, the most frequent token, would find {percent(baseline)}; a guess by how "
            f"often each token is hidden has a loss of {number(metrics['baseline_masked_lm_loss'])}.",
            f"With other tokens hidden it would be {percents(low, high)} (95% interval).",
            "Accuracies can be compared where the vocabulary is the same and the same tokens are hidden.",
        ],
        facts=facts,
    )


def _beside(metrics: dict[str, float]) -> Section:
    rows = [
        ["hidden tokens found", percent(metrics[ACCURACY]), percent(metrics[f"baseline_{ACCURACY}"])],
        ["loss, in nats", number(metrics["masked_lm_loss"]), number(metrics["baseline_masked_lm_loss"])],
    ]
    if NEXT_SENTENCE in metrics:
        rows.append(["pairs told apart", percent(metrics[NEXT_SENTENCE]), percent(0.5)])
    return Section("Comparison with the baseline", [Table(["", "model", "by frequency alone"], rows)])


def _filled(reading: TrainedEnsemble, rows: Sequence[dict[str, str]]) -> Iterator[dict[str, Any]]:
    (field,) = reading.preprocessor.fields
    asked = sample_questions(reading, rows, limit=SHOWN)
    predicted = reading.predict([{field: one.text} for one in asked])
    tokens = np.array(reading.preprocessor.tokens, object)
    for row, one in enumerate(asked):
        found = tokens[predicted["token_ids"][row, 0]].tolist()
        scores = [round(float(score), 6) for score in predicted["scores"][row, 0]]
        yield {"row": one.row, "text": one.text, "hidden": " ".join(one.hidden), "tokens": found, "scores": scores}


def _samples(filled: Sequence[dict[str, Any]]) -> Section:
    rows = []
    for one in filled:
        top = list(zip(one["tokens"], one["scores"], strict=True))[:TOP_TOKENS]
        rows.append([one["text"], one["hidden"], ", ".join(f"{token} {score:.2f}" for token, score in top)])
    words = (
        "A word of some texts is hidden; these are the most likely tokens, with their probabilities. A word that is no "
        "token of the vocabulary by itself cannot be found."
    )
    return Section("Predictions for [MASK]", [Text(words), Table(["text", "hidden", "most likely"], rows)])
