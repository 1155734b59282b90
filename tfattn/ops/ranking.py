"""Ranks and ranking metrics of lists with grades of relevance."""

from typing import Any

from keras import ops

AT = 10  # the number of top documents that metrics count


def ranks(keys: Any, tie_keys: Any, mask: Any) -> Any:
    """Rank the documents of each list by descending keys.

    Args:
        keys: (B, N) float32.
        tie_keys: (B, N) float32; of documents with equal keys, those with a smaller value come first, and of documents
            that are equal in both the first of the list.
        mask: (B, N) bool, False at padding, which has no rank.

    Returns:
        (B, N) float32, the rank of each document, from 1.
    """
    index = ops.arange(ops.shape(keys)[1])
    mine, other = (lambda x: x[:, :, None]), (lambda x: x[:, None, :])
    is_first = other(index[None]) < mine(index[None])
    is_tied_before = (other(tie_keys) < mine(tie_keys)) | ((other(tie_keys) == mine(tie_keys)) & is_first)
    is_before = (other(keys) > mine(keys)) | ((other(keys) == mine(keys)) & is_tied_before)
    return 1 + ops.sum(ops.cast(is_before & other(mask), "float32"), axis=2)


def ranking_metrics(scores: Any, grades: Any, mask: Any) -> dict[str, Any]:
    """Compute nDCG@10, MRR@10 and recall@10 of each list of documents.

    Of documents with equal scores, the less relevant count as ranked first, so that a model without an opinion gains
    nothing from the order of the file.

    Args:
        scores: (B, N) float32.
        grades: (B, N) float32, the relevance of each document; 0 is not relevant.
        mask: (B, N) bool, False at padding.

    Returns:
        `ndcg_at_10`, `mrr_at_10` and `recall_at_10`, (B,) float32 each; 0 for lists without a relevant document.

    Sources: Järvelin and Kekäläinen 2002, "Cumulated gain-based evaluation of IR techniques" (gains are the grades, as
    in trec_eval); Voorhees 1999, "The TREC-8 question answering track report", for the reciprocal rank.
    """
    grades = ops.where(mask, grades, 0.0)
    rank = ranks(scores, grades, mask)
    ideal_rank = ranks(grades, grades, mask)
    in_top = ops.cast(mask & (rank <= AT), "float32")
    in_ideal_top = ops.cast(mask & (ideal_rank <= AT), "float32")
    gain = ops.sum(grades * in_top / _log2(1 + rank), axis=1)
    ideal_gain = ops.sum(grades * in_ideal_top / _log2(1 + ideal_rank), axis=1)
    is_relevant = ops.cast(grades > 0, "float32")
    return {
        f"ndcg_at_{AT}": gain / ops.where(ideal_gain > 0, ideal_gain, 1.0),
        f"mrr_at_{AT}": ops.max(is_relevant * in_top / rank, axis=1),
        f"recall_at_{AT}": ops.sum(is_relevant * in_top, axis=1) / ops.maximum(ops.sum(is_relevant, axis=1), 1.0),
    }


def _log2(x: Any) -> Any:
    return ops.log(x) / 0.6931471805599453
