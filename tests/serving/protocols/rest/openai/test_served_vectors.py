"""Embeddings of a real server, whose model is a process: many clients at once, and requests that it must survive."""

import concurrent.futures
import json
import urllib.error
import urllib.request

import numpy as np
import openai
import pytest

from benchmarks.serving.running import running
from tests.litert import exports
from tfattn.serving.client.local import load

WORDS = ["coolant", "is", "pooling", "under", "the", "sorter", "very", "loud", "noise", "blows", "fuses"]


@pytest.fixture(scope="module")
def exported(once):
    return once("litert_export", exports.write) / "saved_models"


@pytest.fixture(scope="module")
def server(exported):
    with running(exported, worker_threads=1, engine="tensorflow", max_body_mib=1) as server:
        yield server


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=f"{server.rest}/v1", api_key="none", max_retries=0) as client:
        yield client


def vectors(client, texts, **more):
    found = client.embeddings.create(model="reports", input=texts, **more)
    return np.array([item.embedding for item in found.data]), found.usage


def test_vectors_are_those_of_the_export(client, exported):
    texts = ["coolant is pooling", "noise", "very loud noise 海"]
    expected = load(str(exported / "reports")).outputs([{"text": text} for text in texts], signature="features")
    encoded = np.array(expected["encoded"])
    found, usage = vectors(client, texts)
    np.testing.assert_allclose(found, encoded / np.linalg.norm(encoded, axis=1, keepdims=True), atol=1e-5)
    assert usage.total_tokens == sum(expected["num_tokens"]) == 5 + 3 + 6


def test_concurrent_clients_get_the_vectors_of_their_texts_alone(client):
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(WORDS, draw.integers(1, 12))) for _ in range(120)]
    alone = {text: vectors(client, text)[0][0] for text in dict.fromkeys(texts[:40])}
    requests = [list(draw.choice(list(alone), draw.integers(1, 60))) for _ in range(24)]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        for asked, (found, _) in zip(requests, pool.map(lambda some: vectors(client, some), requests), strict=True):
            np.testing.assert_allclose(found, [alone[text] for text in asked], atol=1e-5)


def test_no_request_stops_the_model(client, server):
    long = "noise " * 20_000
    for body in (
        b"{",
        b'{"model": "reports", "input": ["\\u0000", "\\ud800"]}',
        json.dumps({"model": "reports", "input": long}).encode(),
        json.dumps({"model": "reports", "input": [[1] * 1000] * 10}).encode(),
        json.dumps({"model": "reports", "input": "x", "dimensions": 10**30}).encode(),
        b'{"model": "reports", "input": "' + b"x" * 2**20 + b'"}',
        b'{"model": ' + b"[" * 5000,
    ):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(f"{server.rest}/v1/embeddings", body), timeout=30)
        assert refused.value.code in (400, 413), refused.value.read()
    found, _ = vectors(client, ["\0", "�", " ", long, "noise"], extra_body={"truncate": True})
    np.testing.assert_allclose(found[-1], vectors(client, "noise")[0][0], atol=1e-5)
