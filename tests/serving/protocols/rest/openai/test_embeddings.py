"""Embeddings over HTTP, from OpenAI's own client and by hand: vectors, their order, limits and refusals."""

import base64
import json

import numpy as np
import openai
import pytest
import tensorflow as tf
from grpc import StatusCode

from tests.serving.protocols.rest.conftest import eventually
from tests.serving.stand_ins import TEXTS, Version, half_plus_two, signature
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.protocols.rest.openai.embeddings import MAX_INPUTS, OF_EMBEDDINGS, EmbeddingFields

EMBEDDINGS = "/v1/embeddings"
LONGEST = 40
VECTORS, NUMBERS, FLAGS = (tf.float32, [None, 4]), (tf.int32, [None]), (tf.bool, [None])


def vectors(text):
    """A vector for each text, which depends on its length and its first byte."""
    return np.array([[len(one), one[0], 1.0, -2.0] for one in text], np.float32)


def encode(text):
    lengths = np.array([len(one) for one in text], np.int32)
    return {"encoded": vectors(text), "num_tokens": lengths, "truncated": lengths > LONGEST}


def encoder(**outputs):
    outputs = outputs or {"encoded": VECTORS, "num_tokens": NUMBERS, "truncated": FLAGS}
    labels = signature("serving_default", {"text": TEXTS}, {"label": TEXTS})
    return Version("encoder", 5, [(labels, None), (signature("features", {"text": TEXTS}, outputs), encode)])


@pytest.fixture
def server(serve):
    return serve(encoder(), half_plus_two())


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0) as client:
        yield client


def ask(server, text, **more):
    return server.ask("POST", EMBEDDINGS, {"model": "encoder", "input": text, **more})


def refused(answer, status, parameter, *words):
    error = answer.json["error"]
    assert (answer.status, error["param"]) == (status, parameter), error
    assert all(word in error["message"] for word in words), error["message"]
    return error


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_openais_client_gets_vectors_of_length_1_in_the_order_of_the_texts(client, server):
    texts = ["no", "a longer text", "gas", "Ölspur"]
    found = client.embeddings.create(model="encoder", input=texts)  # asks for base64
    assert [one.index for one in found.data] == [0, 1, 2, 3] and found.model == "encoder"
    expected = unit(vectors([text.encode() for text in texts]))
    np.testing.assert_allclose([one.embedding for one in found.data], expected, rtol=1e-6)
    assert found.usage.prompt_tokens == found.usage.total_tokens == sum(len(text.encode()) for text in texts)
    (single,) = client.embeddings.create(model="encoder", input="gas", user="me").data
    assert single.embedding == found.data[2].embedding
    served = ("encoder", 5, "embeddings", "REST", StatusCode.OK)
    eventually(lambda: server.metrics.requests == [served] * 2)


def test_floats_and_base64_are_equal(server):
    (floats,) = ask(server, "gas").json["data"]
    (packed,) = ask(server, "gas", encoding_format="base64").json["data"]
    assert floats["object"] == "embedding" and isinstance(floats["embedding"], list)
    np.testing.assert_array_equal(
        np.frombuffer(base64.b64decode(packed["embedding"]), "<f4"), np.float32(floats["embedding"])
    )


def test_the_first_dimensions_are_normalized_again(server):
    (found,) = ask(server, "gas", dimensions=2).json["data"]
    np.testing.assert_allclose(found["embedding"], unit(vectors([b"gas"])[:, :2])[0], rtol=1e-6)
    (found,) = ask(server, "gas", dimensions=2, normalize=False).json["data"]
    assert found["embedding"] == [3.0, 103.0]
    refused(ask(server, "gas", dimensions=5), 400, "dimensions", "at most 4", "received 5")


def test_rows_are_computed_from_long_to_short_in_one_call(serve):
    version = encoder()
    serve(version).ask("POST", EMBEDDINGS, {"model": "encoder", "input": ["b", "ccc", "dd"]})
    ((name, inputs, outputs, deadline),) = version.calls
    assert name == "features" and inputs["text"].tolist() == [b"ccc", b"dd", b"b"] and deadline is not None
    assert outputs == ("encoded", "num_tokens", "truncated") and version.in_use == 0


def test_a_long_text_is_refused_unless_it_may_be_cut(server):
    texts = ["short", "x" * (LONGEST + 1)]
    error = refused(ask(server, texts), 400, "input", "text 1 is longer than the model reads", "truncate")
    assert error["code"] == "context_length_exceeded"
    for field in ({"truncate": True}, {"truncate_prompt_tokens": -1}):
        assert len(ask(server, texts, **field).json["data"]) == 2


def test_an_export_with_embeddings_and_without_counts(serve):
    version = Version("plain", 1, [])
    for name in ("serving_default", "another"):
        version.signatures[name] = signature(name, {"x": TEXTS}, {"embedding": VECTORS})
        version.functions[name] = lambda x, name=name: {"embedding": vectors(x) * (name == "serving_default")}
    answer = serve(version).ask("POST", EMBEDDINGS, {"model": "plain", "input": "gas"}).json
    assert answer["usage"] == {"prompt_tokens": 0, "total_tokens": 0}
    np.testing.assert_allclose(answer["data"][0]["embedding"], unit(vectors([b"gas"]))[0], rtol=1e-6)


@pytest.mark.parametrize(
    "inputs, outputs",
    [
        ({"image": TEXTS}, {"encoded": VECTORS}),  # bytes of files
        ({"a": TEXTS, "b": TEXTS}, {"encoded": VECTORS}),
        ({"text": (tf.string, [None, None])}, {"encoded": VECTORS}),
        ({"text": (tf.float32, [None])}, {"encoded": VECTORS}),
        ({"text": TEXTS}, {"encoded": (tf.float32, [None, None, 4])}),
        ({"text": TEXTS}, {"encoded": (tf.int32, [None, 4])}),
        ({"text": TEXTS}, {"scores": VECTORS}),
    ],
)
def test_signatures_without_a_vector_for_each_text_are_not_used(inputs, outputs):
    assert EmbeddingFields.find_signature({"features": signature("features", inputs, outputs)}) is None


def test_models_for_a_path_are_listed_and_others_refused(server, client):
    assert [model.id for model in client.models.list()] == ["encoder"]
    assert client.models.retrieve("encoder").created == 5
    refused(ask(server, "x", model="half_plus_two"), 400, "model", "does not embed texts", "half_plus_two:predict")
    error = refused(ask(server, "x", model="other"), 404, "model", "there is encoder")
    assert error["code"] == "model_not_found"
    with pytest.raises(openai.BadRequestError, match="encoder does not generate text"):
        client.completions.create(model="encoder", prompt="x")
    with pytest.raises(openai.NotFoundError, match="/v1/embeddings"):
        client.images.generate(prompt="x", model="encoder")


@pytest.mark.parametrize(
    "text, words",
    [
        ([1, 2], ["token ids", "send texts"]),
        ([[1, 2], [3]], ["token ids", "send texts"]),
        ("", ["text 0 is empty"]),
        (["a", ""], ["text 1 is empty"]),
        ([], ["at least 1 item"]),
        (["x"] * (MAX_INPUTS + 1), [f"at most {MAX_INPUTS} items"]),
        ("x" * (2**20 + 1), ["at most 1048576 characters"]),
        ({"text": "x"}, ["received an object"]),
        (5, ["received 5"]),
        (["x", 5], []),
    ],
)
def test_invalid_inputs_are_refused(server, text, words):
    refused(ask(server, text), 400, "input", *words)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"model": "encoder", "input": "\\ud800"}', b"\xff", b""])
def test_invalid_bodies_are_refused(server, body):
    assert server.ask("POST", EMBEDDINGS, body).status == 400
    assert ask(server, "still there").status == 200


@pytest.mark.parametrize("name", OF_EMBEDDINGS.unsupported)
def test_fields_of_other_servers_are_refused_with_a_remedy_unless_neutral(server, name):
    remedy, neutral = OF_EMBEDDINGS.unsupported[name]
    error = refused(ask(server, "x", **{name: "other"}), 400, name, remedy)
    assert error["code"] == "unsupported_parameter"
    assert all(ask(server, "x", **{name: value}).status == 200 for value in (None, *neutral))


@pytest.mark.parametrize(
    "name, value",
    [("encoding_format", "int8"), ("dimensions", 0), ("dimensions", 1.5), ("truncate_prompt_tokens", 7), ("model", 1)],
)
def test_invalid_values_are_refused(server, name, value):
    refused(ask(server, "x", **{name: value}), 400, name)


def test_unknown_fields_are_listed_or_refused_by_strict_requests(server):
    assert ask(server, "x", dimension=2).headers["x-ignored-fields"] == "dimension"
    refused(ask(server, "x", dimension=2, strict=True), 400, "dimension", "no such field")
    assert ask(server, "x", user="me", strict=True).status == 200


@pytest.mark.parametrize(
    "error, status", [(Failure(StatusCode.UNAVAILABLE, "The queue is full"), 503), (invalid("bad input"), 400)]
)
def test_failures_of_the_model_have_openais_form(serve, error, status):
    version = encoder()
    version.error_to_raise = error
    refused(ask(serve(version), "x"), status, None, error.message)


@pytest.mark.parametrize("broken", [np.float32([[np.nan] * 4]), np.zeros((2, 4), np.float32), np.float32(0)])
def test_a_vector_that_cannot_be_returned_is_a_failure_of_the_model(serve, broken):
    version = Version("broken", 1, [(signature("s", {"x": TEXTS}, {"embedding": VECTORS}), lambda x: {})])
    version.functions["s"] = lambda x: {"embedding": broken}
    answer = serve(version).ask("POST", EMBEDDINGS, {"model": "broken", "input": "x"})
    assert refused(answer, 500, None, "output embedding")["type"] == "server_error"


def test_a_zero_vector_stays_zero(serve):
    version = Version("zero", 1, [(signature("s", {"x": TEXTS}, {"embedding": VECTORS}), None)])
    version.functions["s"] = lambda x: {"embedding": np.zeros((len(x), 4), np.float32)}
    answer = serve(version).ask("POST", EMBEDDINGS, {"model": "zero", "input": "x"})
    assert answer.json["data"][0]["embedding"] == [0.0] * 4


def test_a_slow_model_ends_at_the_time_limit_and_a_gone_client_frees_the_version(serve):
    version = encoder()
    server = serve(version, timeout_seconds=0.1)
    server.do(version.gate.clear)
    refused(ask(server, "x"), 504, None, "too long")
    assert (version.cancelled, version.in_use) == (1, 0)
    body = json.dumps({"model": "encoder", "input": "x"}).encode()
    head = f"POST {EMBEDDINGS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with server.connected() as connection:
        connection.sendall(head + body)
    eventually(lambda: version.cancelled == 2 and version.in_use == 0)


def test_the_token_is_required(serve, tmp_path):
    (tmp_path / "token").write_text("secret-token-of-this-server")
    (tmp_path / "token").chmod(0o600)
    server = serve(encoder(), token_file=str(tmp_path / "token"))
    assert ask(server, "x").status == 401
    allowed = {"Authorization": "Bearer secret-token-of-this-server"}
    assert server.ask("POST", EMBEDDINGS, {"model": "encoder", "input": "x"}, **allowed).status == 200
