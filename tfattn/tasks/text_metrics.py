"""How near written texts come to references."""

import math
from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU, CHRF


def translation(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Figures of N texts against N references.

    Returns:
        `bleu` and `chrf` from 0 to 100, over all texts together; `exact_match`, the fraction that equals its reference.
    """
    return {
        "bleu": BLEU().corpus_score(hypotheses, [references]).score,
        "chrf": CHRF().corpus_score(hypotheses, [references]).score,
        "exact_match": sum(map(str.__eq__, hypotheses, references)) / max(1, len(references)),
    }


def perplexity(surprise: float, count: float) -> float:
    """Compute the perplexity of some tokens or words, from how surprising they are together, in nats."""
    mean = surprise / max(count, 1.0)
    return math.exp(mean) if mean < 700 else math.inf


def bleu_interval(
    hypotheses: Sequence[str], references: Sequence[str], *, resamples: int = 1000, seed: int
) -> tuple[float, float]:
    """Compute the 95 % interval of the BLEU of N texts, by what it is for N of them drawn with replacement.

    Source: Koehn 2004, "Statistical significance tests for machine translation evaluation", section 3.

    Args:
        hypotheses: N texts.
        references: what they should have been.
        resamples: how often they are drawn.
        seed: of the draws.
    """
    bleu = BLEU(effective_order=True)  # has no effect on the counts, of which BLEU is made
    scores = [bleu.sentence_score(*pair) for pair in zip(hypotheses, ([r] for r in references), strict=True)]
    counts = np.array([[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores])
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(resamples):
        times = np.bincount(draw.integers(len(counts), size=len(counts)), minlength=len(counts))
        right, written, (length, wanted) = np.split(times @ counts, [4, 8])
        found.append(BLEU.compute_bleu(list(right), list(written), length, wanted, smooth_method="exp").score)
    low, high = np.percentile(found, (2.5, 97.5))
    return float(low), float(high)


def signature() -> str:
    """Say what sacrebleu's BLEU was computed with, in the short form that papers quote."""
    bleu = BLEU()
    bleu.corpus_score(["a"], [["a"]])
    return str(bleu.get_signature())
