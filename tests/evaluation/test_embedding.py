"""The report of text embeddings: correlations with scores, retrieval, and shorter vectors."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

from tfattn.evaluation import embedding
from tfattn.evaluation.retrieval import rank_by_tfidf
from tfattn.tasks.retrieval_metrics import Retrieval

DRAW = np.random.default_rng(0)
ROLES = ("anchor", "positive")


def ensemble(*, scored, dimensions=(8,), metric_names=("some",), columns=ROLES):
    task = SimpleNamespace(
        scored=scored, dimensions=list(dimensions), metric_names=metric_names, columns=list(columns), prompts={}
    )
    return SimpleNamespace(task=task)


def pairs(count):
    return [
        {"row": f"{'ab'[n % 2]}.tsv:{n}", "anchor": f"report {n} <b>", "positive": f"machine {n % 7} of report {n}"}
        for n in range(count)
    ]


@pytest.fixture
def vectors():
    """Vectors of 60 pairs whose later dimensions are noise."""
    anchors = DRAW.normal(size=(60, 8)).astype("float32")
    noise = DRAW.normal(size=(60, 8)).astype("float32") * np.array([0.1] * 4 + [2.0] * 4, "float32")
    return np.stack([anchors, anchors + noise], axis=1)


def test_the_report_of_scores(tmp_path, write, predictions, vectors):
    units = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    cosines = (units[:, 0] * units[:, 1]).sum(-1)
    true = (cosines + DRAW.normal(scale=0.05, size=60)).astype("float32")
    values, targets = {"embedding": vectors}, {"target_values": true}
    found = embedding.report(
        ensemble(scored=True, dimensions=(8, 4)), predictions(pairs(60), values, targets, leaked=["a.tsv:0"])
    )
    metrics = found.metrics
    assert metrics["spearman"] == pytest.approx(spearmanr(true, cosines).statistic, abs=1e-6) == metrics["spearman/8"]
    assert metrics["spearman_low"] < metrics["spearman"] < metrics["spearman_high"]
    assert metrics["spearman/4"] < metrics["spearman"] and metrics["leaked_rows"] == 1
    odd = np.arange(60) % 2 == 1
    assert metrics["spearman/b.tsv"] == pytest.approx(spearmanr(true[odd], cosines[odd]).statistic, abs=1e-6)
    folder = write(tmp_path / "run", found)
    page = (folder / "report.html").read_text()
    assert {path.stem for path in (folder / "plots").iterdir()} >= {"cosine", "cosine_baseline", "dimensions"}
    assert "Largest disagreements" in page and "Correlation by file" in page and "report 1 <b>" not in page
    assert "is also a training row" in page
    first = json.loads((folder / "predictions.jsonl").read_text().splitlines()[0])
    assert first["cosine"] == pytest.approx(float(cosines[0]), abs=1e-5)


def test_the_report_of_retrieval(tmp_path, write, predictions, vectors):
    vectors[30:, 1] = vectors[:30, 1]  # half of the positives are those of other rows, which are found instead
    hashes = np.stack([np.arange(120).reshape(60, 2)] * 2, axis=-1)
    values, targets = {"embedding": vectors}, {"text_hashes": hashes}
    found = embedding.report(ensemble(scored=False, dimensions=(8, 2)), predictions(pairs(60), values, targets))
    metrics = found.metrics
    assert metrics["queries"] == metrics["documents"] == 60
    assert metrics["recall_at_1"] <= metrics["recall_at_5"] <= metrics["recall_at_10"]
    assert metrics["ndcg_at_10_low"] <= metrics["ndcg_at_10"] <= metrics["ndcg_at_10_high"]
    assert metrics["ndcg_at_10/2"] == Retrieval.of(vectors[..., :2], hashes).metrics["ndcg_at_10"]
    assert metrics["ndcg_at_10/8"] == metrics["ndcg_at_10"]
    assert metrics["baseline_recall_at_10"] > 0.9  # the number of the report is in both texts
    assert any("TF-IDF has a higher nDCG@10" in warning for warning in found.headline.warnings)
    folder = write(tmp_path / "run", found)
    assert {path.stem for path in (folder / "plots").iterdir()} >= {"recall", "dimensions"}
    assert "Retrieval errors" in (folder / "report.html").read_text()
    ranks = [json.loads(line)["rank"] for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert sum(rank == 1 for rank in ranks) == round(metrics["recall_at_1"] * 60)


def test_single_texts_have_no_score(tmp_path, write, predictions):
    rows = [{"row": f"a.txt:{n}", "text": f"report {n}"} for n in range(3)]
    values = {"embedding": np.eye(3, dtype="float32")[:, None]}
    some = ensemble(scored=False, metric_names=(), columns=["text"])
    found = embedding.report(some, predictions(rows, values, {}))
    assert found.metrics == {"mean_cosine": 0.0}
    write(tmp_path / "run", found)


def test_tfidf_ranks_documents_by_common_words():
    documents = ["the sorter blows fuses", "coolant is pooling", "a loud noise"]
    assert rank_by_tfidf(["noise", "coolant"], documents)[:, 0].tolist() == [2, 1]
    same = embedding.tfidf_cosines(["a b", "a b"], ["a b", "c d"])
    np.testing.assert_allclose(same, [1, 0], atol=1e-6)
