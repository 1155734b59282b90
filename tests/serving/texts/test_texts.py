"""Texts from a real server, asked by OpenAI's own client: what is streamed, what is whole, and what is left behind."""

import concurrent.futures
import contextlib
import itertools
import json
import os
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import numpy as np
import openai
import pytest
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from benchmarks.serving.running import descendants, running, wait_until
from tests.serving import authors
from tfattn.sampling_params import RANGES, SamplingParams
from tfattn.serving.api.tensors import from_proto, to_proto

MODEL = authors.NAME
TEXTS = ":tfattn:serving:texts"


def completion(client, prompt, *, seed=0, length=40, **settings):
    return client.completions.create(model=MODEL, prompt=prompt, seed=seed, max_tokens=length, **settings)


def streamed(client, prompt, **settings):
    return "".join(chunk.choices[0].text for chunk in completion(client, prompt, stream=True, **settings))


@pytest.fixture(scope="module")
def own(authored):
    """A server that a test may harm, and its client; the last test ends it."""
    with (
        running(authored, worker_threads=1, timeout_seconds=300) as server,
        openai.OpenAI(base_url=f"{server.rest}/v1", api_key="none", max_retries=0) as client,
    ):
        yield server, client


def test_a_completion_is_equal_whole_and_streamed(client):
    whole = completion(client, "To be", seed=3)
    assert whole.choices[0].text and whole.usage.prompt_tokens > 1 and whole.usage.completion_tokens <= 40
    assert streamed(client, "To be", seed=3) == whole.choices[0].text
    assert [model.id for model in client.models.list()] == [MODEL]


def test_guided_completions_match_a_schema_or_a_choice(client):
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    asked = {"model": MODEL, "messages": [{"role": "user", "content": "To be?"}], "seed": 2}
    formatted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
    answer = client.chat.completions.create(**asked, response_format=formatted).choices[0]
    assert answer.finish_reason == "stop" and json.loads(answer.message.content) in ({"ok": True}, {"ok": False})
    texts = {"guided_choice": ["ja", "日本"]}
    assert streamed(client, "To be", extra_body=texts) in texts["guided_choice"]
    with pytest.raises(openai.BadRequestError, match="guided_json: .*Invalid type: text") as refusal:
        completion(client, "To be", extra_body={"guided_json": {"type": "text"}})
    assert refusal.value.param == "guided_json"


def test_an_answer_of_a_chat_is_equal_whole_and_streamed(client):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "To be?"}]
    asked = {"model": MODEL, "messages": messages, "seed": 5, "max_completion_tokens": 30}
    whole = client.chat.completions.create(**asked, logprobs=True, top_logprobs=3)
    (choice,) = whole.choices
    assert choice.message.role == "assistant" and choice.finish_reason in ("stop", "length")
    assert all(len(token.top_logprobs) == 3 for token in choice.logprobs.content)
    stream = client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    *chunks, last = stream
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == choice.message.content
    assert last.usage.total_tokens == whole.usage.total_tokens
    # By now the whole prompt has been read before, but for the token that is read as the answer begins.
    assert last.usage.prompt_tokens_details.cached_tokens == last.usage.prompt_tokens - 1


def test_a_completion_equals_the_text_of_the_signature(client, server):
    request = PredictRequest(model_spec={"name": MODEL})
    for name, value in {"text": b"To be", "seed": 3, "max_tokens": 30}.items():
        dtype = object if name == "text" else np.int32
        request.inputs[name].CopyFrom(to_proto(np.array([value], dtype)))
    with grpc.insecure_channel(server.grpc) as channel:
        outputs = PredictionServiceStub(channel).Predict(request, timeout=30).outputs
    expected = {name: from_proto(name, value)[0] for name, value in outputs.items()}
    answer = completion(client, "To be", seed=3, length=30)
    assert expected["text"] and answer.choices[0].text == expected["text"].decode()
    assert answer.usage.completion_tokens == expected["length"]
    assert answer.choices[0].finish_reason == expected["finish_reason"].decode()


def test_overlapping_streams_equal_single_streams(client):
    prompts = [f"{'whether it is ' * (number % 3)}to be {number}" for number in range(8)]
    alone = [streamed(client, prompt, seed=seed, length=60) for seed, prompt in enumerate(prompts)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        streams = []
        for seed, prompt in enumerate(prompts):
            stream = completion(client, prompt, seed=seed, length=60, stream=True)
            first = next(stream).choices[0].text  # the one before is under way
            streams.append(pool.submit(lambda first=first, rest=stream: first + "".join(_texts(rest))))
        assert [stream.result() for stream in streams] == alone


def _texts(stream):
    return [chunk.choices[0].text for chunk in stream]


def test_a_stop_string_ends_a_text_also_across_tokens(client):
    whole = completion(client, "To be", seed=3, length=60).choices[0].text
    for start in range(5, min(len(whole) - 6, 25), 4):
        stop = whole[start : start + 3]
        if "\ufffd" in stop:  # bytes that are no text
            continue
        expected = whole[: whole.index(stop)].rstrip("\ufffd")  # half a character before it is dropped
        answer = completion(client, "To be", seed=3, length=60, stop=["~~~~", stop]).choices[0]
        assert (answer.text.rstrip("\ufffd"), answer.finish_reason) == (expected, "stop")
        assert streamed(client, "To be", seed=3, length=60, stop=stop) == answer.text


def test_several_texts_of_a_prompt(client):
    choices = completion(client, "To be", seed=1, n=3).choices
    assert [choice.index for choice in choices] == [0, 1, 2] and len({choice.text for choice in choices}) == 3
    assert choices[0].text == completion(client, "To be", seed=1).choices[0].text


def test_models_are_listed_and_retrieved(client):
    (listed,) = client.models.list().data
    assert client.models.retrieve(listed.id) == listed
    with pytest.raises(openai.NotFoundError) as refused:
        client.models.retrieve("nobody")
    assert refused.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError, match="author does not embed texts"):
        client.embeddings.create(model=MODEL, input="To be")


def test_rules_on_tokens_and_the_most_probable_text(client, server):
    free = completion(client, "To be", seed=1).choices[0].text
    forced = completion(client, "To be", seed=1, logit_bias={"65": 100}).choices[0].text
    assert len(forced) == 40 and len(set(forced)) == 1 and forced != free
    assert completion(client, "To be", seed=1).choices[0].text == free
    rules = {"min_tokens": 30, "allowed_token_ids": [65, 66, 67], "bad_words": ["zz"]}
    assert len(completion(client, "To be", seed=1, extra_body=rules).choices[0].text) == 40
    best = completion(client, "To be", seed=1, n=1, best_of=4, logprobs=0).choices
    every = completion(client, "To be", seed=1, n=4, logprobs=0).choices
    means = {one.text: sum(one.logprobs.token_logprobs) / len(one.logprobs.tokens) for one in every}
    assert [one.text for one in best] == [max(means, key=means.get)]
    with pytest.raises(openai.BadRequestError) as refused:
        completion(client, "To be", logit_bias={"100000": 1})
    assert refused.value.param == "logit_bias"


def test_requests_of_disconnected_clients_are_cancelled(client, server):
    body = {"model": MODEL, "prompt": "To be", "max_tokens": 500, "stream": True, "temperature": 2.0}
    wait_until(lambda: server.figure(TEXTS) == 0)
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(_asking(server, body)) for _ in range(20)]
        wait_until(lambda: server.figure(TEXTS) > 4)
        for connection in connections[:2]:
            assert connection.recv(100)
    wait_until(lambda: server.figure(TEXTS) == 0, seconds=20)
    assert len(completion(client, "To be", seed=4, n=4).choices) == 4


@contextlib.contextmanager
def _asking(server, body):
    address = urlsplit(server.rest)
    content = json.dumps(body).encode()
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        head = f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n"
        connection.sendall(head.encode() + content)
        yield connection


def test_invalid_requests_are_refused_with_the_cause(client):
    for wrong, name in (({"temperature": -1}, "temperature"), ({"top_p": 1.1}, "top_p"), ({"n": 0}, "n")):
        with pytest.raises(openai.BadRequestError) as refused:
            completion(client, "To be", **wrong)
        assert refused.value.param == name
    with pytest.raises(openai.BadRequestError, match=f"tokens, and the model's context is {authors.CONTEXT} tokens"):
        completion(client, "question " * 600)
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="nobody", prompt="To be")


# As JSON has them, or as many of its readers do.
NUMBERS = ["0", "-0.0", "1e-45", "3.4e38", "1e39", "1e308", "NaN", "Infinity"]
FRACTIONS = [name for name, limits in RANGES.items() if limits.kind is float]


def posted(server, path, body):
    """Status and answer of a request, which must come soon."""
    request = urllib.request.Request(f"{server.rest}{path}", body.encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_every_number_is_answered_or_refused_without_effect_on_streams(client, server):
    asked = [{"prompt": f"to be {seed}", "seed": seed, "length": 200} for seed in range(3)]
    expected = [streamed(client, **one) for one in asked]
    plain = {"model": MODEL, "prompt": "To be", "max_tokens": 5, "seed": 1}
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        streams = [pool.submit(streamed, client, **one) for one in asked]
        for name, number, guided in itertools.product(FRACTIONS, NUMBERS, ({}, {"guided_regex": "[a-z]+"})):
            body = json.dumps(plain | guided).removesuffix("}") + f', "{name}": {number}}}'
            status, answer = posted(server, "/v1/completions", body)
            limits = RANGES[name]
            assert status == (200 if limits.low <= float(number) <= limits.high else 400), (body, answer)
            assert status == 200 or answer["error"]["param"] == name
        assert [stream.result() for stream in streams] == expected


@pytest.mark.parametrize("signature", ["serving_default", "decode_step"])
def test_every_number_is_answered_or_refused_by_each_signature(client, server, authored, signature):
    expected = completion(client, "To be", seed=1, length=5).choices[0].text
    inputs = {"text": ["To be"], "max_tokens": [5]}
    if signature == "decode_step":
        width = len(json.loads((authored / MODEL / "1/assets/token_bytes.json").read_text()))
        row = {"token_ids": [[5]], "padding_mask": [[True]], "lengths": [0], "index": [0], "seed": [1]}
        row |= {name: [value] for name, value in SamplingParams().of_logits.items()}
        past = np.zeros((2, 2, 1, 2, 1, 8)).tolist()
        inputs = {**row, "in_prompt": [[False] * width], "counts": [[0] * width], "allowed": [[True]], "past": past}
        inputs["logit_bias"] = [[0.0]]
    for name, number in itertools.product(FRACTIONS, NUMBERS):
        body = json.dumps({"signature_name": signature, "inputs": inputs | {name: ["NUMBER"]}})
        status, answer = posted(server, f"/v1/models/{MODEL}:predict", body.replace('"NUMBER"', number))
        limits = RANGES[name]
        with np.errstate(over="ignore"):
            is_within = limits.low <= np.float32(number) <= limits.high
        assert status == (200 if is_within else 400), (name, number, answer)
        assert status == 200 or f"{name}: expected {limits}" in answer["error"]
    assert completion(client, "To be", seed=1, length=5).choices[0].text == expected


def test_a_process_that_dies_ends_its_streams_with_the_reason_and_is_replaced(own):
    server, client = own
    expected = completion(client, "To be").choices[0].text
    stream = completion(client, "To be", length=500, stream=True, temperature=2.0)
    next(stream)
    os.kill(_busiest(server), signal.SIGKILL)
    with pytest.raises(openai.APIError, match="process died while it wrote"):
        list(stream)
    assert completion(client, "To be").choices[0].text == expected
    wait_until(lambda: server.figure(TEXTS) == 0)


def test_a_server_finishes_its_streams_after_sigterm(own):
    server, client = own
    expected = streamed(client, "To be", length=300)
    stream = completion(client, "To be", length=300, stream=True)
    first = next(stream).choices[0].text
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        ending = pool.submit(server.end)
        assert first + "".join(_texts(stream)) == expected
        assert ending.result() == 0


def _busiest(server):
    """The process that writes: of all below the server that which has used a processor longest."""
    return max(map(int, descendants(server.process_id)), key=_ticks)


def _ticks(process):
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
