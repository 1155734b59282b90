"""Metrics of generated texts against references."""

import math
from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU, CHRF


def translation(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Compute the metrics of N texts against N references.

    Returns:
        corpus `bleu` and `chrf` from 0 to 100; `exact_match`, the fraction of texts that equal their reference.
    """
    return {
        "bleu": BLEU().corpus_score(hypotheses, [references]).score,
        "chrf": CHRF().corpus_score(hypotheses, [references]).score,
        "exact_match": sum(map(str.__eq__, hypotheses, references)) / max(1, len(references)),
    }


def perplexity(surprise: float, count: float) -> float:
    """Compute the perplexity per token or word from the total cross-entropy in nats and the count."""
    mean = surprise / max(count, 1.0)
    return math.exp(mean) if mean < 700 else math.inf


def bleu_interval(
    hypotheses: Sequence[str], references: Sequence[str], *, resamples: int = 1000, seed: int
) -> tuple[float, float]:
    """Compute the 95 % bootstrap interval of the BLEU of N texts.

    Source: Koehn 2004, "Statistical significance tests for machine translation evaluation", section 3.

    Args:
        hypotheses: N texts.
        references: N references.
        resamples: the number of bootstrap samples.
        seed: the seed of the samples.
    """
    bleu = BLEU(effective_order=True)  # does not change the counts, from which BLEU is computed
    scores = [bleu.sentence_score(*pair) for pair in zip(hypotheses, ([r] for r in references), strict=True)]
    counts = np.array([[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores])
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(resamples):
        times = np.bincount(draw.integers(len(counts), size=len(counts)), minlength=len(counts))
        matches, totals, (length, reference_length) = np.split(times @ counts, [4, 8])
        score = BLEU.compute_bleu(list(matches), list(totals), length, reference_length, smooth_method="exp").score
        found.append(score)
    low, high = np.percentile(found, (2.5, 97.5))
    return float(low), float(high)


def signature() -> str:
    """Return the signature of sacrebleu's BLEU, as papers quote it."""
    bleu = BLEU()
    bleu.corpus_score(["a"], [["a"]])
    return str(bleu.get_signature())
