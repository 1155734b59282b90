"""Losses of text embeddings, in which the texts of a batch are compared with each other."""

from typing import Any

from keras import ops

from tfattn.ops.spans import NEVER


def cosines(x: Any, y: Any) -> Any:
    """Compute the cosine similarity of the vectors of each row: (B, D) and (B, D) -> (B,)."""
    return ops.sum(ops.normalize(x, axis=-1) * ops.normalize(y, axis=-1), axis=-1)


def in_batch_negatives(anchors: Any, candidates: Any, is_negative: Any, *, temperature: float) -> Any:
    """Compute the InfoNCE loss of each anchor, whose positive is the candidate of the same index.

    Args:
        anchors: (B, D) float32.
        candidates: (M, D) float32, M >= B: the positives of the B anchors, then other negatives.
        is_negative: (B, M) bool, the candidates that an anchor is compared with; its positive always is.
        temperature: the cosine similarities are divided by it.

    Returns:
        (B,) float32, the cross-entropy of choosing the positive by similarity.

    Source: van den Oord et al. 2018, "Representation learning with contrastive predictive coding", equation 4, with
    cosines as in Henderson et al. 2017, "Efficient natural language response suggestion for smart reply".
    """
    rows, columns = ops.shape(anchors)[0], ops.shape(candidates)[0]
    similarities = ops.matmul(ops.normalize(anchors, axis=-1), ops.transpose(ops.normalize(candidates, axis=-1)))
    is_positive = ops.arange(rows)[:, None] == ops.arange(columns)[None, :]
    logits = ops.where(ops.logical_or(is_negative, is_positive), similarities / temperature, NEVER)
    own = ops.sum(ops.where(is_positive, logits, 0.0), axis=1)
    return ops.logsumexp(logits, axis=1) - own


def cosent(similarities: Any, scores: Any, counts: Any, *, temperature: float) -> Any:
    """Compute the CoSENT loss of a batch of pairs: a pair with a higher score should be more similar.

    Args:
        similarities: (B,) float32, the cosine similarity of each pair.
        scores: (B,) float32, the scores of the pairs, in any unit.
        counts: (B,) bool, the pairs that count.
        temperature: the differences of similarities are divided by it.

    Returns:
        a scalar, log(1 + sum(exp((s_j - s_i) / temperature))) over all i and j where i has the higher score; 0 if all
        scores are equal.

    Source: Su 2022, "CoSENT (I): a more effective sentence vector scheme than Sentence-BERT".
    """
    differences = (similarities[None, :] - similarities[:, None]) / temperature
    is_ordered = ops.logical_and(scores[:, None] > scores[None, :], ops.logical_and(counts[:, None], counts[None, :]))
    logits = ops.reshape(ops.where(is_ordered, differences, NEVER), (-1,))
    return ops.logsumexp(ops.concatenate([ops.zeros_like(logits[:1]), logits]))
