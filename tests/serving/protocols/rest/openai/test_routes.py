"""OpenAI's API over HTTP: responses, streams, failures and metrics."""

import json

import pytest
from grpc import StatusCode

from tests.serving.protocols.rest.conftest import eventually, read_all
from tests.serving.stand_ins import Version, half_plus_two
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.generation.output import OutputChunk, Token, Usage
from tfattn.serving.generation.request import ChatMessage
from tfattn.serving.models.version import VersionState

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
FOX = Token(5, " fox", -0.25, ((" fox", -0.25), ("\xe5", -2.0)))
PIECES = [
    OutputChunk(0, "The"),
    OutputChunk(1, "A"),
    OutputChunk(0, " fox", (FOX,), "stop", Usage(4, 1, 2)),
    OutputChunk(1, "", (), "length", Usage(4, 3, 1)),
]
ONE = [PIECES[0], PIECES[2]]
CLIENT = {"X_Stainless_Lang": "python"}  # as OpenAI's client says of itself
SAID = [{"role": "user", "content": "Say something"}]


@pytest.fixture
def author():
    version = Version("author", 1753869876, [])
    version.pieces = ONE
    return version


@pytest.fixture
def server(serve, author):
    return serve(author, half_plus_two())


def chat(**more):
    return {"model": "author", "messages": SAID, **more}


def completion(**more):
    return {"model": "author", "prompt": "Once", **more}


def request(fields) -> bytes:
    body = json.dumps(fields).encode()
    return f"POST {COMPLETIONS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def events(answer):
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    *written, rest = answer.body.decode().split("\n\n")
    assert rest == "" and all(event.startswith("data: ") for event in written)
    return [event.removeprefix("data: ") for event in written]


def refused(answer, status, parameter, *words):
    error = answer.json["error"]
    assert (answer.status, error["param"]) == (status, parameter), error
    assert error["type"] == ("invalid_request_error" if status < 500 else "server_error")
    assert all(word in error["message"] for word in words), error["message"]
    return error


def test_a_completion(server, author):
    author.pieces = PIECES
    answer = server.ask("POST", COMPLETIONS, completion(n=2, logprobs=2)).json
    assert answer["id"].startswith("cmpl-") and answer["object"] == "text_completion" and answer["model"] == "author"
    first, second = answer["choices"]
    assert (first["text"], first["finish_reason"]) == ("The fox", "stop")
    assert (second["text"], second["finish_reason"]) == ("A", "length")
    told = {"tokens": [" fox"], "token_logprobs": [-0.25], "top_logprobs": [{" fox": -0.25, "\ufffd": -2.0}]}
    assert first["logprobs"] == {**told, "text_offset": [0]}
    usage = {
        "prompt_tokens": 4,
        "completion_tokens": 3,
        "total_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 1},
    }
    assert answer["usage"] == usage  # the prompt was read once for both
    (wanted,) = author.requests
    assert (wanted.prompts, wanted.n, wanted.max_tokens, wanted.logprobs) == (("Once",), 2, 16, 2)
    assert server.metrics.usages == [("author", Usage(4, 1, 2)), ("author", Usage(0, 0, 1))]
    assert server.metrics.first_pieces == ["author"]
    eventually(lambda: server.metrics.requests == [("author", 1753869876, "completions", "REST", StatusCode.OK)])


def test_an_answer_of_a_chat(server, author):
    settings = {"temperature": 0, "top_p": 0.5, "top_k": 3, "min_p": 0.1, "repetition_penalty": 1.5, "seed": 9}
    asked = chat(max_completion_tokens=7, logprobs=True, top_logprobs=1, stop="END", **settings)
    answer = server.ask("POST", CHAT, asked).json
    assert answer["id"].startswith("chatcmpl-") and answer["object"] == "chat.completion"
    (choice,) = answer["choices"]
    assert choice["message"] == {"role": "assistant", "content": "The fox", "refusal": None}
    (told,) = choice["logprobs"]["content"]
    assert (told["token"], told["logprob"], told["bytes"]) == (" fox", -0.25, list(b" fox"))
    assert [one["token"] for one in told["top_logprobs"]] == [" fox", "\ufffd"]
    (wanted,) = author.requests
    assert wanted.prompts == ((ChatMessage(role="user", content="Say something"),),)
    assert (wanted.max_tokens, wanted.logprobs, wanted.stop) == (7, 1, ("END",))
    assert {name: getattr(wanted, name) for name in settings} == settings


def test_a_stream_of_a_completion(server, author):
    author.pieces = PIECES
    *written, done = events(server.ask("POST", COMPLETIONS, completion(n=2, stream=True)))
    assert done == "[DONE]"
    chunks = [json.loads(event) for event in written]
    assert len({(chunk["id"], chunk["created"], chunk["object"]) for chunk in chunks}) == 1
    texts = [(chunk["choices"][0]["index"], chunk["choices"][0]["text"]) for chunk in chunks]
    assert texts == [(0, "The"), (1, "A"), (0, " fox"), (1, "")]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, "stop", "length"]
    assert not any("usage" in chunk for chunk in chunks)


def test_a_chat_stream_starts_with_the_role_and_may_end_with_usage(server):
    asked = chat(stream=True, stream_options={"include_usage": True})
    *written, done = events(server.ask("POST", CHAT, asked))
    first, *chunks, last = [json.loads(event) for event in written]
    assert done == "[DONE]" and {chunk["object"] for chunk in (first, *chunks, last)} == {"chat.completion.chunk"}
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [{"content": "The"}, {"content": " fox"}]
    assert all(chunk["usage"] is None for chunk in chunks)
    assert last["choices"] == [] and last["usage"]["total_tokens"] == 6


def test_an_echo_precedes_each_text(server, author):
    author.pieces = [OutputChunk(index, "Once", is_prompt=True) for index in (0, 1)] + PIECES
    answer = server.ask("POST", COMPLETIONS, completion(n=2, echo=True)).json
    assert [choice["text"] for choice in answer["choices"]] == ["OnceThe fox", "OnceA"]
    *written, _ = events(server.ask("POST", COMPLETIONS, completion(n=2, echo=True, stream=True)))
    choices = [json.loads(event)["choices"][0] for event in written]
    texts = ["".join(choice["text"] for choice in choices if choice["index"] == index) for index in (0, 1)]
    assert texts == ["OnceThe fox", "OnceA"] and all(request.echo for request in author.requests)


def test_an_echo_has_log_probabilities(server, author):
    prompt = (Token(7, "On", None), Token(8, "ce", -2.0, (("\xe5", -1.0), ("\xe6", -2.0))))
    author.pieces = [OutputChunk(0, "Once", prompt, is_prompt=True), OutputChunk(0, "", (), "length", Usage(2, 0, 0))]
    asked = completion(prompt=[7, 8], echo=True, logprobs=2, max_tokens=0)
    (choice,) = server.ask("POST", COMPLETIONS, asked).json["choices"]
    assert (choice["text"], choice["finish_reason"]) == ("Once", "length")
    assert choice["logprobs"] == {
        "tokens": ["On", "ce"],
        "token_logprobs": [None, -2.0],
        "top_logprobs": [None, {"\ufffd": -1.0}],  # of two tokens with the same text the most likely
        "text_offset": [0, 2],
    }
    (wanted,) = author.requests
    assert (wanted.prompts, wanted.max_tokens, wanted.logprobs, wanted.echo) == (((7, 8),), 0, 2, True)


@pytest.mark.parametrize(
    "prompt, expected",
    [
        ("Once", ("Once",)),
        ("", ("",)),
        (["Once", "Twice"], ("Once", "Twice")),
        ([1, 2], ((1, 2),)),
        ([[1], [2, 3]], ((1,), (2, 3))),
    ],
)
def test_prompts_are_texts_or_tokens_one_or_several(server, author, prompt, expected):
    author.pieces = PIECES
    assert server.ask("POST", COMPLETIONS, completion(prompt=prompt, n=2 // len(expected))).status == 200
    assert author.requests[0].prompts == expected


def test_parts_of_a_message_and_fields_that_change_nothing(server, author):
    parts = [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]
    messages = [{"role": "developer", "content": parts}, {"role": "user", "content": "Hi", "name": "Ann"}]
    assert server.ask("POST", CHAT, chat(messages=messages, user="me", store=False, tools=None, n=None)).status == 200
    assert author.requests[0].prompts[0] == (
        ChatMessage(role="system", content="Be brief."),
        ChatMessage(role="user", content="Hi"),
    )


def test_language_models_are_listed(server):
    listed = server.ask("GET", "/v1/models").json
    assert listed["object"] == "list"
    assert listed["data"] == [{"id": "author", "object": "model", "created": 1753869876, "owned_by": "tfattn"}]


def test_a_model_path_depends_on_the_client(server):
    expected = {"id": "author", "object": "model", "created": 1753869876, "owned_by": "tfattn"}
    assert server.ask("GET", "/v1/models/author", **CLIENT).json == expected
    version = server.ask("GET", "/v1/models/author%2Fversions%2F1753869876", **CLIENT).json
    assert version == expected | {"id": "author/versions/1753869876"}
    error = refused(server.ask("GET", "/v1/models/writer", **CLIENT), 404, "model", "'writer'", "author")
    assert error["code"] == "model_not_found"
    assert list(server.ask("GET", "/v1/models/author").json) == ["model_version_status"]
    assert list(server.ask("GET", "/v1/models/half_plus_two").json) == ["model_version_status"]


@pytest.mark.parametrize(
    "path", ["images", "responses/r_1", "responses/r_1/cancel", "moderations", "files", "batches/b/cancel"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_paths_of_openais_api_that_are_not_offered(server, serve, method, path):
    answers = [server.ask(method, f"/v1/{path}", {}), serve(half_plus_two()).ask(method, f"/v1/{path}", {}, **CLIENT)]
    for answer in answers:
        error = refused(answer, 404, None, f"{method} /v1/{path}", COMPLETIONS)
        assert error["code"] == "unknown_url"
    eventually(lambda: server.metrics.requests == [("", None, path.split("/")[0], "REST", StatusCode.NOT_FOUND)])


def test_without_language_models_the_paths_are_tf_servings(serve):
    server = serve(half_plus_two())
    assert server.ask("GET", "/v1/models").error == "Missing model name in request."
    for path in (COMPLETIONS, "/v1/embeddings"):
        assert server.ask("POST", path, {}).error == f"Malformed request: POST {path}"


@pytest.mark.parametrize(
    "parameter, value, words",
    [
        ("temperature", -0.1, ["from 0 to 1e+30", "received -0.1"]),
        ("temperature", "hot", ["number", "received a string"]),
        ("top_p", 1.5, ["from 1e-30 to 1", "received 1.5"]),
        ("top_p", 0, ["from 1e-30 to 1"]),
        ("n", 0, ["from 1 to 16", "received 0"]),
        ("n", 1000, ["from 1 to 16"]),
        ("max_tokens", 0, ["from 1 to 2147483647"]),
        ("presence_penalty", 3, ["from -2 to 2"]),
        ("seed", 1.5, ["integer"]),
        ("stop", "x" * 2**20, ["at most 128 characters", "received a string"]),
        ("stop", "", ["at least 1 character"]),
        ("stop", ["x"] * 17, ["at most 16 items"]),
        ("logprobs", 21, []),
        ("stream", "yes", ["boolean", "received a string"]),
        ("model", 5, ["string"]),
        ("logit_bias", {"5": 101}, ["less than or equal to 100"]),
        ("logit_bias", {"to": 1}, ["integer"]),
        ("stop_token_ids", [-1], ["greater than or equal to 0"]),
        ("allowed_token_ids", [], ["at least 1 item"]),
        ("bad_words", [""], ["at least 1 character"]),
        ("min_tokens", 2**31, ["at most max_tokens", f"received {2**31}"]),
        ("stream_options", {"include_usage": True}, ["requires stream to be true"]),
    ],
)
def test_invalid_values_are_refused_with_their_names(server, author, parameter, value, words):
    for path, asked in ((COMPLETIONS, completion), (CHAT, chat)):
        refused(server.ask("POST", path, asked(**{parameter: value})), 400, parameter, *words)
    assert not author.requests


@pytest.mark.parametrize(
    "path, fields, parameter, words",
    [
        (CHAT, {"messages": []}, "messages", ["at least 1 item"]),
        (CHAT, {"messages": [{"role": "robot", "content": "Hi"}]}, "messages", ["'user'"]),
        (CHAT, {"messages": "Hi"}, "messages", ["received a string"]),
        (CHAT, {"top_logprobs": 2}, "top_logprobs", ["logprobs"]),
        (CHAT, {"guided_choice": ["a"], "guided_regex": "b"}, "guided_regex", ["only one field"]),
        (COMPLETIONS, {"n": 3, "best_of": 2}, "best_of", ["at least n, 3, received 2"]),
        (COMPLETIONS, {"best_of": 2, "stream": True}, "best_of", ["stream to be false"]),
        (COMPLETIONS, {"max_tokens": 5, "min_tokens": 6}, "min_tokens", ["at most max_tokens, 5, received 6"]),
        (CHAT, {"structured_outputs": {}}, "structured_outputs", ["an object with one of"]),
        (COMPLETIONS, {"messages": SAID}, "messages", [CHAT]),
        (COMPLETIONS, {"prompt": []}, "prompt", []),
        (COMPLETIONS, {"prompt": ["x"] * 17}, "prompt", []),
        (COMPLETIONS, {"echo": True, "max_tokens": -1}, "max_tokens", ["from 1 to 2147483647", "received -1"]),
    ],
)
def test_invalid_fields_of_a_path(server, path, fields, parameter, words):
    asked = chat if path == CHAT else completion
    refused(server.ask("POST", path, asked(**fields)), 400, parameter, *words)


def test_constraints_are_passed_to_the_model(server, author):
    schema = {"type": "json_schema", "json_schema": {"name": "one", "schema": {"type": "integer"}}}
    server.ask("POST", CHAT, chat(response_format=schema))
    server.ask("POST", COMPLETIONS, completion(guided_choice=["a", "b"]))
    server.ask("POST", CHAT, chat(response_format={"type": "text"}))
    server.ask("POST", CHAT, chat(guided_json={"$ref": "#"}))  # what no text fits takes work to find out
    wanted = [request.guided for request in author.requests]
    assert wanted == [{"response_format": schema}, {"guided_choice": ["a", "b"]}, {}, {"guided_json": {"$ref": "#"}}]


def test_token_rules_are_passed_to_the_model(server, author):
    rules = {"min_tokens": 3, "stop_token_ids": (5, 6), "ignore_eos": True, "bad_words": ("no",)}
    rules |= {"allowed_token_ids": (1, 2), "logit_bias": {7: -1.5}}
    for path, asked in ((COMPLETIONS, completion), (CHAT, chat)):
        answer = server.ask("POST", path, asked(**rules, user="me"))
        assert answer.status == 200 and "x-ignored-fields" not in answer.headers
        assert {name: getattr(author.requests[-1], name) for name in rules} == rules


def test_the_most_probable_texts_are_returned_in_order(server, author):
    told = {0: [-1.0, -1.0], 1: [-0.1], 2: [-0.5] * 9, 3: []}
    author.pieces = [
        OutputChunk(
            index, str(index), tuple(Token(5, "x", value) for value in values), "stop", Usage(4, 0, len(values))
        )
        for index, values in told.items()
    ]
    answer = server.ask("POST", COMPLETIONS, completion(n=2, best_of=4)).json
    assert (author.requests[0].n, author.requests[0].logprobs) == (4, 0)
    choices = [(choice["index"], choice["text"], choice["logprobs"]) for choice in answer["choices"]]
    assert choices == [(0, "1", None), (1, "2", None)]
    assert answer["usage"]["completion_tokens"] == 12
    prompts = [OutputChunk(index, "p", (Token(4, "p", None),), is_prompt=True) for index in told]
    author.pieces = prompts + author.pieces
    answer = server.ask("POST", COMPLETIONS, completion(n=2, best_of=4, echo=True)).json
    assert [choice["text"] for choice in answer["choices"]] == ["p1", "p2"]
    author.pieces = author.pieces[len(prompts) :]
    answer = server.ask("POST", COMPLETIONS, completion(prompt=["a", "b"], best_of=2, logprobs=1, echo=False)).json
    assert [choice["text"] for choice in answer["choices"]] == ["1", "2"]
    assert answer["choices"][0]["logprobs"]["token_logprobs"] == [-0.1]


@pytest.mark.parametrize("stream", [False, True])
def test_unknown_fields_are_listed_or_refused_by_strict_requests(server, author, stream):
    answer = server.ask("POST", CHAT, chat(stream=stream, temprature=1, user="me"))
    assert (answer.status, answer.headers["x-ignored-fields"]) == (200, "temprature")
    error = refused(server.ask("POST", CHAT, chat(stream=stream, temprature=1, strict=True)), 400, "temprature")
    assert error["code"] == "unknown_parameter"
    assert server.ask("POST", CHAT, chat(stream=stream, user="me", strict=True)).status == 200
    assert refused(server.ask("POST", CHAT, chat(mirostat=2)), 400, "mirostat")["code"] == "unsupported_parameter"


def test_failures_of_the_model_name_the_field(server, author):
    author.pieces = [invalid("logit_bias: expected tokens of the vocabulary, from 0 to 5, received 6")]
    refused(server.ask("POST", CHAT, chat(logit_bias={"6": 1})), 400, "logit_bias", "from 0 to 5")
    author.pieces = [invalid("guided_regex: the grammar is too ambiguous")]
    refused(
        server.ask("POST", CHAT, chat(structured_outputs={"regex": "a"})),
        400,
        "structured_outputs",
        ".regex: the grammar",
    )


def test_invalid_bodies(server):
    refused(server.ask("POST", CHAT, b"{"), 400, None, "JSON")
    refused(server.ask("POST", CHAT, b"[" * 10_000), 400, None, "JSON")
    refused(server.ask("POST", CHAT, b"5"), 400, None)
    refused(server.ask("POST", CHAT, {"messages": SAID}), 400, "model", "required")


def test_unknown_models_and_other_models(server):
    error = refused(server.ask("POST", CHAT, chat(model="writer")), 404, "model", "'writer'", "author")
    assert error["code"] == "model_not_found"
    refused(server.ask("POST", CHAT, chat(model="half_plus_two")), 400, "model", "half_plus_two:predict")


def test_a_version_or_label_of_a_model(serve, author):
    older = Version("author", 3, [])
    older.pieces = [OutputChunk(0, "older", (), "stop", Usage(1, 0, 1))]
    server = serve(author, older)
    server.models.labels["author"] = {"stable": 3}
    texts = {
        model: server.ask("POST", COMPLETIONS, completion(model=model)).json["choices"][0]["text"]
        for model in ("author", "author/versions/3", "author/labels/stable")
    }
    assert texts == {"author": "The fox", "author/versions/3": "older", "author/labels/stable": "older"}
    refused(server.ask("POST", CHAT, chat(model="author/versions/4")), 404, "model", "author/versions/4")
    refused(server.ask("POST", CHAT, chat(model="author/labels/x")), 400, "model", "label: x")


def test_a_model_that_is_not_available_yet(serve, author):
    author.state = VersionState.LOADING
    assert serve(author).ask("POST", CHAT, chat()).status == 404


def test_failures_before_the_first_piece_are_error_responses(server, author):
    author.pieces = [invalid("The prompt has 900 tokens, and the model's context is 512 tokens")]
    for stream in (False, True):
        refused(server.ask("POST", COMPLETIONS, completion(stream=stream)), 400, "prompt", "900", "512")
    author.pieces = [Failure(StatusCode.UNAVAILABLE, "Too many texts wait to be written already")]
    refused(server.ask("POST", CHAT, chat(stream=True)), 503, None, "wait")
    codes = [StatusCode.INVALID_ARGUMENT] * 2 + [StatusCode.UNAVAILABLE]
    eventually(lambda: [code for *_, code in server.metrics.requests] == codes)


def test_a_failure_ends_a_stream_with_an_error_event(server, author):
    author.pieces = [PIECES[0], Failure(StatusCode.UNAVAILABLE, "The model's process died while it wrote")]
    *_, text, error = events(server.ask("POST", COMPLETIONS, completion(stream=True)))
    assert json.loads(text)["choices"][0]["text"] == "The"
    assert json.loads(error)["error"]["message"] == "The model's process died while it wrote"
    refused(server.ask("POST", COMPLETIONS, completion()), 503, None, "died")


@pytest.mark.parametrize("stream", [False, True])
def test_a_disconnected_client_cancels_its_request(server, author, stream):
    author.gate.clear()
    with server.connected() as connection:
        connection.sendall(request(completion(stream=stream)))
        eventually(lambda: author.in_use == 1)
        if stream:
            assert b"The" in connection.recv(10_000)
    eventually(lambda: (author.in_use, author.cancelled) == (0, 1))
    eventually(lambda: [code for *_, code in server.metrics.requests] == [StatusCode.CANCELLED])


@pytest.mark.parametrize("stream", [False, True])
def test_streams_fail_at_shutdown(server, author, stream):
    server.uvicorn.config.timeout_graceful_shutdown = 0.3
    author.gate.clear()
    with server.connected() as connection:
        connection.sendall(request(completion(stream=stream)))
        eventually(lambda: author.in_use == 1)
        server.models.draining, server.uvicorn.should_exit = True, True
        written = read_all(connection).decode()
    assert written.startswith("HTTP/1.1 200" if stream else "HTTP/1.1 503")
    assert "The server ended before the text did" in written
    if stream:
        assert '"text": "The"' in written and written.endswith("\r\n0\r\n\r\n"), "whole, as HTTP has it"
    assert [code for *_, code in server.metrics.requests] == [StatusCode.UNAVAILABLE]


def test_a_text_that_stalls(serve, author):
    server = serve(author, timeout_seconds=0.1)
    server.do(author.gate.clear)
    refused(server.ask("POST", COMPLETIONS, completion()), 504, None, "did not go on within 0.1 s")
    *_, error = events(server.ask("POST", COMPLETIONS, completion(stream=True)))
    assert "did not go on" in json.loads(error)["error"]["message"]


def test_the_token_is_required(serve, author, tmp_path):
    (tmp_path / "token").write_text("secret")
    (tmp_path / "token").chmod(0o600)
    server = serve(author, token_file=str(tmp_path / "token"))
    error = refused(server.ask("POST", CHAT, chat()), 401, None)
    assert error["code"] == "invalid_api_key"
    refused(server.ask("GET", "/v1/models"), 401, None)
    assert server.ask("POST", CHAT, chat(), Authorization="Bearer secret").status == 200


def test_a_body_that_is_too_large(serve, author):
    server = serve(author, max_body_mib=1)
    refused(server.ask("POST", CHAT, b" " * (2**20 + 1)), 413, None, "1 MiB")
