"""Reranking over HTTP: documents by relevance, in the format of Jina and Cohere."""

import json

import numpy as np
import pytest
import tensorflow as tf
from grpc import StatusCode

from tests.serving.protocols.rest.conftest import eventually
from tests.serving.stand_ins import TEXTS, Version, half_plus_two, signature
from tfattn.serving.protocols.rest.openai.rerank import MAX_DOCUMENTS, OF_RERANKING, RerankFields

RERANK = "/v1/rerank"
SCORES, NUMBERS = (tf.float32, [None]), (tf.int32, [None])
PAIR = {"query": TEXTS, "document": TEXTS}
DOCUMENTS = ["xx q", "q", "xxxx", "xx z"]  # scores 1/2, 1, 0, 1/2


def score(query, document):
    """The common letters of query and document, divided by the words of the document."""
    common = [one.count(other) / max(1, len(one.split())) for other, one in zip(query, document, strict=True)]
    lengths = np.array([len(other) + len(one) for other, one in zip(query, document, strict=True)], np.int32)
    return {"score": np.array(common, np.float32), "num_tokens": lengths}


def reranker():
    return Version("ranker", 3, [(signature("serving_default", PAIR, {"score": SCORES, "num_tokens": NUMBERS}), score)])


@pytest.fixture
def server(serve):
    return serve(reranker(), half_plus_two())


def ask(server, documents=DOCUMENTS, **more):
    return server.ask("POST", RERANK, {"model": "ranker", "query": "q", "documents": documents, **more})


def refused(answer, status, parameter, *words):
    error = answer.json["error"]
    assert (answer.status, error["param"]) == (status, parameter), error
    assert all(word in error["message"] for word in words), error["message"]
    return error


def test_documents_are_sorted_by_score_and_keep_their_index(server):
    answer = ask(server).json
    assert answer["model"] == "ranker" and answer["id"].startswith("rerank-")
    assert answer["results"] == [
        {"index": 1, "relevance_score": 1.0},
        {"index": 0, "relevance_score": 0.5},
        {"index": 2, "relevance_score": 0.0},  # documents with equal scores keep their order
        {"index": 3, "relevance_score": 0.0},
    ]
    total = sum(1 + len(text) for text in DOCUMENTS)
    assert answer["usage"] == {"prompt_tokens": total, "total_tokens": total}
    eventually(lambda: server.metrics.requests == [("ranker", 3, "rerank", "REST", StatusCode.OK)])


def test_the_first_documents_with_their_texts(server):
    found = ask(server, [{"text": text} for text in DOCUMENTS], top_n=2, return_documents=True).json["results"]
    assert [(one["index"], one["document"]["text"]) for one in found] == [(1, "q"), (0, "xx q")]
    assert len(ask(server, top_n=99).json["results"]) == len(DOCUMENTS)
    assert ask(server, ["q", {"text": "x"}]).status == 200


def test_every_document_is_scored_with_the_query_in_one_call(serve):
    version = reranker()
    ask(serve(version), ["b", "ccc", "dd"])
    ((_, inputs, outputs, _),) = version.calls
    assert inputs["document"].tolist() == [b"ccc", b"dd", b"b"] and inputs["query"].tolist() == [b"q"] * 3
    assert outputs == ("score", "num_tokens")


@pytest.mark.parametrize(
    "fields, parameter, words",
    [
        ({"documents": []}, "documents", ["at least 1 item"]),
        ({"documents": ["a", " "]}, "documents", ["document 1 is empty", "leave it out"]),
        ({"documents": ["a", {"text": ""}]}, "documents", ["document 1 is empty"]),
        ({"documents": ["a", {"title": "b"}]}, "documents", []),
        ({"documents": ["a", {"text": "b", "title": "c"}]}, "documents", []),
        ({"documents": ["a", 5]}, "documents", []),
        ({"documents": "a"}, "documents", ["received a string"]),
        ({"documents": ["a"] * (MAX_DOCUMENTS + 1)}, "documents", [f"at most {MAX_DOCUMENTS} items"]),
        ({"documents": ["x" * (2**20 + 1)]}, "documents", ["at most 1048576 characters"]),
        ({"query": ""}, "query", ["empty"]),
        ({"query": {"text": "q"}}, "query", ["string", "received an object"]),
        ({"query": None}, "query", ["string"]),
        ({"top_n": 0}, "top_n", ["greater than 0"]),
        ({"return_documents": "yes"}, "return_documents", ["boolean"]),
        ({"model": "half_plus_two"}, "model", ["does not rerank documents", "half_plus_two:predict"]),
    ],
)
def test_invalid_requests_are_refused_with_their_field(server, fields, parameter, words):
    refused(ask(server, **{"documents": DOCUMENTS, **fields}), 400, parameter, *words)
    assert ask(server).status == 200


def test_missing_fields_and_models(server):
    assert refused(server.ask("POST", RERANK, {"model": "ranker"}), 400, "query", "required")
    error = refused(ask(server, model="other"), 404, "model", "there is ranker")
    assert error["code"] == "model_not_found"
    refused(server.ask("GET", RERANK), 404, None, f"GET {RERANK}")


def test_a_server_without_a_reranker_has_the_errors_of_tf_serving(serve):
    assert serve(half_plus_two()).ask("POST", RERANK, {}).error == f"Malformed request: POST {RERANK}"


@pytest.mark.parametrize("name", OF_RERANKING.unsupported)
def test_fields_of_other_servers_are_refused_with_a_remedy_unless_neutral(server, name):
    remedy, neutral = OF_RERANKING.unsupported[name]
    error = refused(ask(server, **{name: "other"}), 400, name, remedy)
    assert error["code"] == "unsupported_parameter"
    assert all(ask(server, **{name: value}).status == 200 for value in (None, *neutral))


def test_unknown_fields_are_listed_or_refused_by_strict_requests(server):
    assert ask(server, topn=2).headers["x-ignored-fields"] == "topn"
    refused(ask(server, topn=2, strict=True), 400, "topn", "no such field")


@pytest.mark.parametrize(
    "inputs, outputs",
    [
        ({"query": TEXTS}, {"score": SCORES}),
        ({"query": TEXTS, "text": TEXTS}, {"score": SCORES}),
        ({"query": TEXTS, "document": (tf.string, [None, None])}, {"score": SCORES}),
        ({"query": TEXTS, "document": (tf.int32, [None])}, {"score": SCORES}),
        (PAIR, {"score": (tf.float32, [None, 1])}),
        (PAIR, {"prediction": SCORES}),
    ],
)
def test_signatures_without_a_score_for_each_pair_are_not_used(inputs, outputs):
    assert RerankFields.find_signature({"s": signature("s", inputs, outputs)}) is None


@pytest.mark.parametrize("body", [b"{", b"5", json.dumps({"model": "ranker", "query": "q"}).encode()])
def test_invalid_bodies_are_refused(server, body):
    assert server.ask("POST", RERANK, body).status == 400
