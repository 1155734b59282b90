"""How near written texts come to references."""

from collections.abc import Sequence

from sacrebleu.metrics import BLEU, CHRF


def translation(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Figures of N texts against N references.

    Returns:
        `bleu` and `chrf` from 0 to 100, over all texts together; `exact_match`, the share that equals its reference.
    """
    return {
        "bleu": BLEU().corpus_score(hypotheses, [references]).score,
        "chrf": CHRF().corpus_score(hypotheses, [references]).score,
        "exact_match": sum(map(str.__eq__, hypotheses, references)) / max(1, len(references)),
    }


def signature() -> str:
    """What sacrebleu's BLEU was computed with, in the short form that papers quote."""
    bleu = BLEU()
    bleu.corpus_score(["a"], [["a"]])
    return str(bleu.get_signature())
