"""The report of ranking: metrics by query, BM25, and the worst lists."""

import json

import numpy as np
import pytest

from tfattn.errors import DataError
from tfattn.evaluation import ranking
from tfattn.trained.predictions import MemberPredictions

QUERIES = ["red apple", "blue sky", "green pear", "unknown"]
DOCUMENTS = [
    ["the apple is red", "a car", "the sea"],
    ["the grass", "the blue sky is blue sky"],
    ["a <b>pear</b>", "the green pear", "a tree"],
    ["something", "anything"],
]
GRADES = np.float32([[2, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]])
SCORES = np.float32([[0.9, 0.1, 0.5], [0.7, 0.2, 0.0], [0.3, 0.2, 0.1], [0.5, 0.6, 0.0]])
ROWS = [
    {"row": f"x.jsonl:{number}", "query": query, "documents": documents, "grades": grades[: len(documents)].tolist()}
    for number, (query, documents, grades) in enumerate(zip(QUERIES, DOCUMENTS, GRADES, strict=True), start=1)
]


@pytest.fixture
def report(predictions):
    def report(scores=SCORES, grades=GRADES, **options):
        return ranking.report(None, predictions(ROWS, {"scores": scores}, {"grades": grades}, **options))

    return report


def test_metrics_are_means_over_queries_with_a_relevant_document(report):
    metrics = report().metrics
    assert (metrics["queries"], metrics["queries_without_relevant"]) == (3, 1)
    assert metrics["ndcg_at_10"] == pytest.approx((1 + 1 / np.log2(3) + 1) / 3)
    assert metrics["mrr_at_10"] == pytest.approx((1 + 1 / 2 + 1) / 3) and metrics["recall_at_10"] == 1
    assert metrics["ndcg_at_10_low"] <= metrics["ndcg_at_10"] <= metrics["ndcg_at_10_high"]


def test_bm25_orders_the_same_documents(report):
    metrics = report().metrics
    # Of the first list, the third document shares no word with the query, and ties count against it; of the third, the
    # second document has both words.
    first = (2 + 1 / np.log2(4)) / (2 + 1 / np.log2(3))
    assert metrics["baseline_ndcg_at_10"] == pytest.approx((first + 1 + 1 / np.log2(3)) / 3)
    difference = metrics["ndcg_at_10"] - metrics["baseline_ndcg_at_10"]
    assert metrics["better_than_bm25"] == pytest.approx(difference, abs=1e-6)


def test_a_model_that_is_not_better_has_a_warning(report):
    assert "The model is not better than BM25" in report().headline.warnings[0]
    worse = report(np.where(GRADES > 0, 0.1, 0.9).astype("float32"))
    assert "The model is worse than BM25" in worse.headline.warnings[0]


def test_the_worst_list_is_first_with_both_documents(report):
    section = report().sections[-1]
    assert "The only error" in section.parts[0].text
    assert [(words, piece.text, piece.kind) for words, [piece] in section.parts[1].lines] == [
        ("2", "blue sky", ""),
        ("rank 1", "the grass", "wrong"),
        ("rank 2", "the blue sky is blue sky", "missed"),
    ]
    assert report(GRADES / 4 + 0.1).sections[-1].parts[0].text == "Every list is in the best order."


def test_predictions_have_a_score_for_each_document(report):
    lines = list(report().predictions)
    json.dumps(lines)
    assert lines[1] == {**ROWS[1], "scores": [0.7, 0.2]}


def test_lists_are_grouped_by_size_and_short_lists_have_a_remark(report):
    table = report().sections[1].parts[0]
    assert [row[:2] for row in table.rows] == [["2", 1], ["3", 2]]
    remarks = " ".join(report().headline.remarks)
    assert "recall@10 is always 1" in remarks and "1 list without a relevant document" in remarks


def test_members_and_leaked_rows_are_reported(report):
    members = [MemberPredictions(f"seed {seed}", {"scores": SCORES}, {"grades": GRADES}) for seed in (1, 2)]
    found = report(members=members, leaked=["x.jsonl:2"])
    assert found.metrics["ndcg_at_10_members_mean"] == pytest.approx(found.metrics["ndcg_at_10"])
    assert found.metrics["ndcg_at_10_without_leaked"] == 1
    assert any("also a training row" in warning and "nDCG@10" in warning for warning in found.headline.warnings)


def test_a_split_without_a_relevant_document_is_refused(report):
    with pytest.raises(DataError, match="x.jsonl:1: no query has a relevant document: expected test rows"):
        report(grades=np.zeros_like(GRADES))
