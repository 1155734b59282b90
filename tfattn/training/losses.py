"""The loss of a task: the sum over its terms of the weighted mean of each term."""

from collections.abc import Mapping, Sequence

LOSS = "loss"


def loss_metrics(terms: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a task's losses: `loss`, and each of several terms, such as `loss/masked_lm`.

    Args:
        terms: the names of the terms, see `Task.loss_names`.
    """
    return (LOSS, *(f"{LOSS}/{term}" for term in terms)) if len(terms) > 1 else (LOSS,)


def mean_losses(sums: Mapping[str, float], weights: Mapping[str, float]) -> dict[str, float]:
    """Compute the loss, and each of several terms, by the names of `loss_metrics`.

    Args:
        sums: sum(loss * weight) of each term.
        weights: sum(weight) of each term; a term with zero weight has the loss 0.

    Example:
        >>> mean_losses({"masked_lm": 6.0, "next_sentence": 1.0}, {"masked_lm": 3.0, "next_sentence": 2.0})
        {'loss': 2.5, 'loss/masked_lm': 2.0, 'loss/next_sentence': 0.5}
    """
    means = [sums[term] / weights[term] if weights[term] else 0.0 for term in sums]
    return dict(zip(loss_metrics(list(sums)), [sum(means), *means], strict=False))
