"""The whole of REST over HTTP: rows 1 to 20, 40, 46 to 61, the limits, health, and the page."""

import gzip
import json
import time
import zlib

import numpy as np
import pytest
import tensorflow as tf
from grpc import StatusCode

from tests.serving.protocols.rest.conftest import answers, eventually, post, read_all
from tests.serving.stand_ins import FLOATS, TEXTS, Version, half_plus_two, signature, sums
from tfattn import files
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.models.version import VersionState
from tfattn.serving.monitoring import logs
from tfattn.serving.protocols import core

MODEL = "/v1/models/half_plus_two"
ROWS = {"instances": [1.0, 2.0]}
PREDICTIONS = {"predictions": [2.5, 3.0]}


def newest(server):
    return server.models.find("half_plus_two")


def test_row_1_predictions_of_a_model_a_version_and_a_label(server):
    for path, number in (("", 2), ("/versions/1", 1), ("/labels/stable", 1)):
        answer = server.post(f"half_plus_two{path}:predict", ROWS)
        assert (answer.status, answer.json) == (200, PREDICTIONS)
        code = ("half_plus_two", number, "predict", "REST", StatusCode.OK)
        eventually(lambda code=code: server.metrics.requests[-1:] == [code])


def test_rows_2_to_7_malformed_requests(server):
    for method, path in (("GET", "/v1/foo"), ("POST", "/v1/foo"), ("PUT", MODEL), ("DELETE", f"{MODEL}:predict")):
        answer = server.ask(method, path)
        assert (answer.status, answer.error) == (400, f"Malformed request: {method} {path}")
    assert server.ask("GET", "/v1/models").error == "Missing model name in request."
    answer = server.ask("HEAD", MODEL)
    assert (answer.status, answer.body) == (400, b"")
    eventually(lambda: server.metrics.requests[-1:] == [("", None, "", "REST", StatusCode.INVALID_ARGUMENT)])


def test_row_8_other_paths(serve):
    server = serve()
    for method, path in (("GET", "/nothing"), ("POST", "/"), ("GET", "/v1"), ("PUT", "/page.js"), ("OPTIONS", "/x")):
        answer = server.ask(method, path)
        assert (answer.status, answer.error) == (404, f"Not found: {path}")
    answer = serve(as_tf_serving=["not_found_json"]).ask("GET", "/nothing")
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html")
    assert b"<H1>Not Found</H1>" in answer.body


def test_row_9_the_case_of_paths(server):
    assert server.ask("POST", "/V1/Models/half_plus_two:predict", ROWS).json == PREDICTIONS
    assert server.ask("POST", f"{MODEL}:PREDICT", ROWS).error == f"Malformed request: POST {MODEL}:PREDICT"


def test_row_10_the_query_is_a_part_of_the_path(server):
    answer = server.ask("POST", f"{MODEL}:predict?x=1", ROWS)
    assert (answer.status, answer.error) == (400, f"Malformed request: POST {MODEL}:predict?x=1")
    answer = server.ask("GET", f"{MODEL}?x=1")
    assert (answer.status, answer.error) == (404, "Could not find any versions of model half_plus_two?x=1")


def test_row_11_encoded_names(serve):
    spaced = half_plus_two()
    spaced.model = "my m"
    server = serve(spaced)
    assert server.post("my%20m:predict", ROWS).json == PREDICTIONS
    answer = server.post("..%2Fmy%20m:predict", ROWS)
    assert (answer.status, answer.error) == (404, "Servable not found for request: Latest(../my m)")


def test_row_12_pages_of_other_origins(serve):
    plain, open_to_all = serve(), serve(cors=True)
    for server in (plain, open_to_all):
        answer = server.ask("OPTIONS", f"{MODEL}:predict", Origin="https://example.org")
        assert (answer.status, answer.body) == (200, b"")
        answer = server.ask("OPTIONS", f"{MODEL}:predict")
        assert (answer.status, answer.body) == (400, b"")
    expected = {
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "POST, GET",
        "access-control-allow-headers": "Content-Type",
    }
    for method, path, body in (("OPTIONS", MODEL, None), ("POST", f"{MODEL}:predict", ROWS), ("GET", "/v1/x", None)):
        headers = open_to_all.ask(method, path, body, Origin="http://example.org").headers
        assert {name: value for name, value in headers.items() if "access-control" in name} == expected
        headers = plain.ask(method, path, body, Origin="http://example.org").headers
        assert not any("access-control" in name for name in headers)


def test_row_13_the_content_type_does_not_matter(serve):
    server = serve(as_tf_serving=["browser_safety"])
    for kind in ("text/plain", "application/x-www-form-urlencoded", "nonsense"):
        assert server.post("half_plus_two:predict", ROWS, Content_Type=kind).json == PREDICTIONS


def test_row_14_gzip(serve):
    server = serve(max_body_mib=1, max_gzip_ratio=100)
    body = json.dumps(ROWS).encode()

    def ask(compressed):
        return server.post("half_plus_two:predict", compressed, Content_Encoding="gzip")

    assert ask(gzip.compress(body)).json == PREDICTIONS
    for broken in (b"not gzip", b"", gzip.compress(body)[:20], gzip.compress(body) + b"x", zlib.compress(body)):
        answer = ask(broken)
        assert (answer.status, answer.error) == (400, "JSON Parse error: The document is empty")
    answer = ask(gzip.compress(body + b" " * 500_000))
    assert (answer.status, answer.error) == (400, "A body inflates to more than 100 times its size")
    random = np.random.default_rng(0).integers(0, 256, 20_000, np.uint8).tobytes()
    answer = ask(gzip.compress(random + b" " * 2**20))
    assert (answer.status, answer.error) == (413, "The body is larger than this server takes: 1 MiB")


def test_row_15_metrics(server):
    answer = server.ask("GET", "/monitoring/prometheus/metrics?x=1")
    assert answer.status == 200 and b"# TYPE" in answer.body
    assert answer.headers["content-type"].startswith("text/plain")


def test_row_18_signatures(server):
    assert server.post("half_plus_two:predict", ROWS | {"signature_name": "serving_default"}).json == PREDICTIONS
    answer = server.post("half_plus_two:predict", ROWS | {"signature_name": "s"})
    assert (answer.status, answer.error) == (400, 'Serving signature name: "s" not found in signature def')


def test_row_20_no_body(server):
    answer = server.post("half_plus_two:predict", b"")
    assert (answer.status, answer.error) == (400, "JSON Parse error: The document is empty")
    assert "The document is empty" in server.post("nobody:predict", b"").error, "even for an unknown model"


def test_row_17_columns_and_row_46_several_outputs(server):
    assert server.post("half_plus_two:predict", {"inputs": {"x": [3.0, 4.0]}}).json == {"outputs": [3.5, 4.0]}
    named = server.post("sums:predict", {"instances": [{"a": 1, "b": 2}]})
    assert named.json == {"predictions": [{"c": 3.0, "d": -1.0}]}


def test_inputs_with_default_values_may_be_left_out(server):
    rows = {"signature_name": "default", "instances": [{"a": 1}, {"a": 2}]}
    assert server.post("sums:predict", rows).json == {"predictions": [{"c": 11.0, "d": -9.0}, {"c": 12.0, "d": -8.0}]}
    columns = {"signature_name": "default", "inputs": {"a": [1]}}
    assert server.post("sums:predict", columns).json == {"outputs": {"c": [11.0], "d": [-9.0]}}


def test_row_40_and_50_types_without_a_json_form(serve):
    half = {"x": (tf.half, [None])}
    functions = [
        (signature("from", half, {"y": FLOATS}), lambda x: {"y": x.astype(np.float32)}),
        (signature("to", {"x": FLOATS}, {"y": half["x"]}), lambda x: {"y": x.astype(np.float16)}),
    ]
    server = serve(Version("half", 1, functions))
    answer = server.post("half:predict", {"signature_name": "from", "inputs": [1.0]})
    assert answer.status == 501 and "Conversion of JSON Value: 1.0 to type: half" in answer.error
    answer = server.post("half:predict", {"signature_name": "to", "inputs": [1.0]})
    assert (answer.status, answer.error) == (400, "Failed to write JSON value for tensor type: half")


def test_deviations_can_be_switched_off(serve):
    functions = [
        (signature("serving_default", {"x": (tf.uint8, [None])}, {"y": FLOATS}), lambda x: {"y": x.astype(np.float32)}),
        (signature("texts", {"x": TEXTS}, {"y": TEXTS}), lambda x: {"y": x}),
    ]
    ours, theirs = (
        serve(Version("m", 1, functions)),
        serve(Version("m", 1, functions), as_tf_serving=["integer_range", "bytes_as_b64", "health_paths"]),
    )
    assert ours.post("m:predict", {"instances": [300]}).status == 400
    assert theirs.post("m:predict", {"instances": [300]}).json == {"predictions": [44.0]}
    body = {"signature_name": "texts", "instances": [{"b64": "/w=="}]}
    assert ours.post("m:predict", body).json == {"predictions": [{"b64": "/w=="}]}
    assert theirs.post("m:predict", body).body == b'{"predictions": ["\xff"]}'
    assert ours.ask("GET", "/v1/health/live").status == 200
    assert theirs.ask("GET", "/v1/health/live").error == "Malformed request: GET /v1/health/live"


def test_rows_51_to_54_classify_and_regress(server):
    examples = {"examples": [{"x": 20.0}]}
    assert server.post("half_plus_two:classify", examples | {"signature_name": "scores"}).json == {
        "results": [[["", 12.0], ["", 13.0]]]
    }
    assert server.post("half_plus_two:classify", examples | {"signature_name": "classify"}).json == {
        "results": [[["two", 12.0], ["thrée", 13.0]]]
    }
    body = {"signature_name": "regress", "context": {"x": 80.0}, "examples": [{}, {"x": 20.0}]}
    assert server.post("half_plus_two:regress", body).json == {"results": [42.0, 12.0]}
    for method in ("classify", "regress"):
        assert server.post(f"half_plus_two:{method}", examples).status == 400, "a signature for predictions"
        assert "'examples' is expected" in server.post(f"half_plus_two:{method}", {}).error


def test_rows_55_to_58_states(serve):
    broken = half_plus_two(3, state=VersionState.END, error=invalid("no such op"))
    loading = sums()
    loading.state = VersionState.LOADING
    server = serve(half_plus_two(1), broken, loading)
    right = {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
    wrong = {"error_code": "INVALID_ARGUMENT", "error_message": "no such op"}
    every = {"model_version_status": [{"version": "3", "state": "END", "status": wrong}, right]}
    for path in ("", "/labels/stable", "/labels/nobody"):
        answer = server.ask("GET", MODEL + path)
        assert (answer.status, answer.json) == (200, every)
    assert server.ask("GET", f"{MODEL}/versions/1").json == {"model_version_status": [right]}
    answer = server.ask("GET", f"{MODEL}/versions/99")
    assert (answer.status, answer.error) == (404, "Could not find version 99 of model half_plus_two")
    answer = server.ask("GET", "/v1/models/foo")
    assert (answer.status, answer.error) == (404, "Could not find any versions of model foo")
    assert server.ask("GET", "/v1/models/sums").json["model_version_status"][0]["state"] == "LOADING"


def test_row_59_metadata(server):
    for path, number in (("", "2"), ("/versions/1", "1"), ("/labels/stable", "1")):
        found = server.ask("GET", f"{MODEL}{path}/metadata").json
        assert found["model_spec"] == {"name": "half_plus_two", "signature_name": "", "version": number}
        signatures = found["metadata"]["signature_def"]["signature_def"]
        assert signatures["serving_default"]["inputs"] == {
            "x": {
                "dtype": "DT_FLOAT",
                "tensor_shape": {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False},
                "name": "serving_default_x:0",
            }
        }
        assert signatures["serving_default"]["method_name"] == "tensorflow/serving/predict"
        assert signatures["serving_default"]["defaults"] == {}


def test_row_60_unknown_models_and_versions(server):
    for path, name in (("foo", "Latest(foo)"), ("half_plus_two/versions/99", "Specific(half_plus_two, 99)")):
        for answer in (server.post(f"{path}:predict", ROWS), server.ask("GET", f"/v1/models/{path}/metadata")):
            assert (answer.status, answer.error) == (404, f"Servable not found for request: {name}")


def test_row_61_unknown_labels(server):
    answer = server.post("half_plus_two/labels/x:predict", ROWS)
    assert (answer.status, answer.error) == (400, "Unrecognized servable version label: x")


def test_row_72_the_time_for_an_answer(serve):
    server = serve(timeout_seconds=0.2)
    version = newest(server)
    version.gate.clear()
    answer = server.post("half_plus_two:predict", ROWS)
    assert (answer.status, answer.error) == (504, "The request took too long to be answered")
    eventually(lambda: version.cancelled == 1 and version.in_use == 0)
    deadline = version.calls[0][-1]
    assert deadline is not None
    eventually(lambda: deadline <= server.loop.time())  # that clock counts in whole milliseconds
    eventually(lambda: server.metrics.requests[-1][-1] is StatusCode.DEADLINE_EXCEEDED)


def test_requests_of_disconnected_clients_are_cancelled(server):
    version = newest(server)
    version.gate.clear()
    with server.connected() as connection:
        connection.sendall(post(b'{"instances": [1.0]}'))
        eventually(lambda: version.calls)
    eventually(lambda: version.cancelled == 1 and version.in_use == 0)
    eventually(lambda: server.metrics.requests == [("half_plus_two", 2, "predict", "REST", StatusCode.CANCELLED)])
    with server.connected() as connection:
        connection.sendall(post(b'{"instances": [1.0]}')[:-5])
    eventually(lambda: len(server.metrics.requests) == 2)
    assert server.metrics.requests[-1] == ("half_plus_two", None, "predict", "REST", StatusCode.CANCELLED)


@pytest.mark.parametrize("code", list(StatusCode)[1:])
def test_failures_of_the_model_have_their_status(server, code):
    newest(server).error_to_raise = Failure(code, "because")
    answer = server.post("half_plus_two:predict", ROWS)
    assert (answer.status, answer.error) == (newest(server).error_to_raise.http_status, "because")


def test_unexpected_exceptions_are_internal_errors(server, monkeypatch):
    written = []
    monkeypatch.setattr(logs, "log", lambda event, **facts: written.append((event, facts)))
    newest(server).error_to_raise = RuntimeError("with the request's own words")
    answer = server.post("half_plus_two:predict", ROWS)
    assert (answer.status, answer.error) == (500, "The server failed. See its log.")
    ((event, facts),) = written
    assert event == "internal_error" and facts["error"] == "RuntimeError" and "stand_ins.py" in facts["place"]
    assert "own words" not in str(facts)
    newest(server).error_to_raise = None
    assert server.post("half_plus_two:predict", ROWS).json == PREDICTIONS
    monkeypatch.setattr(server.metrics, "text", lambda: 1 / 0)
    server.models.names = None
    for path in ("/monitoring/prometheus/metrics", "/models.json", MODEL):
        assert server.ask("GET", path).error == "The server failed. See its log."


def test_requests_are_logged_without_their_content(serve, monkeypatch):
    written = []
    monkeypatch.setattr(core, "log", lambda event, **facts: written.append((event, facts)))
    server = serve(log_requests=True)
    server.post("half_plus_two:predict", {"instances": ["secret"]})
    server.post("secret:predict", ROWS)
    eventually(lambda: len(written) == 2)
    assert "secret" not in str(written)
    event, facts = written[0]
    assert event == "request" and facts.pop("seconds") > 0
    assert facts == {
        "entrypoint": "REST",
        "api": "predict",
        "model": "half_plus_two",
        "version": 2,
        "code": StatusCode.INVALID_ARGUMENT,
    }


def test_large_bodies_and_answers(server):
    rows = (np.arange(9_000) / 7).tolist()
    body = json.dumps({"instances": rows, "ignored": "x" * 300_000})
    answer = server.post("half_plus_two:predict", body)
    assert answer.json["predictions"] == [float(str(y)) for y in np.float32(rows) / 2 + 2]


def test_the_largest_body(serve):
    server = serve(max_body_mib=1)
    message = "The body is larger than this server takes: 1 MiB"
    answer = server.post("half_plus_two:predict", b" " * (2**20 + 1))
    assert (answer.status, answer.error) == (413, message)
    assert server.post("half_plus_two:predict", b" " * (2**20 - 50) + json.dumps(ROWS).encode()).json == PREDICTIONS
    answer = server.ask("POST", f"{MODEL}:predict", (b" " * 2**16 for _ in range(40)))
    assert (answer.status, answer.error) == (413, message)
    with server.connected() as connection:  # one that asks first is told before it sends
        connection.sendall(post(b"", head=b"Expect: 100-continue\r\n").replace(b"Length: 0", b"Length: 9999999"))
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_is_announced(server):
    with server.connected() as connection:
        request = post(b'{"instances": [1.0]}', head=b"Expect: 100-continue\r\nConnection: close\r\n")
        connection.sendall(request[:-20])
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(request[-20:])
        assert answers(read_all(connection))[0].json == {"predictions": [2.5]}


def test_a_slow_body(serve):
    server = serve(slow_client_seconds=1.0)
    body = b'{"instances": [1.0]}'
    request = post(body, head=b"Connection: close\r\n")
    pieces = [request[:-20], *(request[-20 + index : -20 + index + 1] or request[-1:] for index in range(20))]
    assert answers(server.raw(*pieces, pause=0.05))[0].json == {"predictions": [2.5]}, "slow, but it comes"
    start = time.monotonic()
    (answer,) = answers(server.raw(request[:-1]))
    assert (answer.status, answer.error) == (408, "The body came too slowly")
    assert time.monotonic() - start < 20


def test_the_token(serve, tmp_path):
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    token.chmod(0o600)
    server = serve(token_file=str(token), cors=True)
    for headers in ({}, {"Authorization": "Bearer s3cre"}, {"Authorization": "Basic s3cret"}, {"Authorization": "é"}):
        paths = (MODEL, "/models.json", "/cards/half_plus_two/1.json", "/v1/foo")
        for method, path in (("POST", f"{MODEL}:predict"), *(("GET", path) for path in paths)):
            answer = server.ask(method, path, json.dumps(ROWS), **headers)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer"), (headers, path)
            assert answer.error == "A bearer token that this server knows is needed"
    right = {"Authorization": "Bearer s3cret"}
    assert server.post("half_plus_two:predict", ROWS, **right).json == PREDICTIONS
    assert server.ask("GET", "/models.json", **right).status == 200
    for path in ("/v1/health/live", "/v1/health/ready", "/monitoring/prometheus/metrics", "/"):
        assert server.ask("GET", path).status == 200
    preflight = server.ask("OPTIONS", MODEL, Origin="https://example.org")
    assert preflight.status == 200
    assert preflight.headers["access-control-allow-headers"] == "Content-Type, Authorization"
    assert server.metrics.requests[0] == ("", None, "", "REST", StatusCode.UNAUTHENTICATED)


def test_health(server):
    assert server.ask("GET", "/v1/health/live").json == {"live": True}
    assert server.ask("GET", "/v1/health/ready").json == {"ready": True}
    assert server.ask("HEAD", "/v1/health/ready").status == 200
    server.models.ready = False
    answer = server.ask("GET", "/v1/health/ready")
    assert (answer.status, answer.json) == (503, {"ready": False, "error": server.models.readiness})
    assert server.ask("HEAD", "/v1/health/ready").status == 503
    assert server.ask("GET", "/v1/health/live").status == 200
    assert server.ask("POST", "/v1/health/live").error == "Malformed request: POST /v1/health/live"


def test_draining(server):
    assert "connection" not in server.post("half_plus_two:predict", ROWS).headers
    server.models.draining = True
    for answer in (server.post("half_plus_two:predict", ROWS), server.ask("GET", "/nothing"), server.ask("GET", "/")):
        assert answer.headers["connection"] == "close"
    assert server.post("half_plus_two:predict", ROWS).json == PREDICTIONS


def test_a_server_answers_open_requests_at_shutdown(serve):
    server = serve()
    server.uvicorn.config.timeout_graceful_shutdown = 0.3
    newest(server).gate.clear()
    with server.connected() as connection:
        connection.sendall(post(b'{"instances": [1.0]}'))
        eventually(lambda: newest(server).calls)
        server.uvicorn.should_exit = True
        (answer,) = answers(read_all(connection))
    assert (answer.status, answer.error) == (503, "The server ended before it could answer")


def test_the_page(server):
    for path, kind, words in (
        ("/", "text/html; charset=utf-8", b"<!DOCTYPE html>"),
        ("/page.js", "text/javascript; charset=utf-8", b"models.json"),
        ("/page.css", "text/css; charset=utf-8", b"{"),
    ):
        answer = server.ask("GET", path)
        assert answer.status == 200 and words in answer.body
        assert answer.headers["content-type"] == kind
        assert answer.headers["content-security-policy"].startswith("default-src 'self'; ")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert server.ask("HEAD", path).headers["content-length"] == str(len(answer.body))


def test_the_list_of_models(serve):
    unknown = sums()
    unknown.state = VersionState.LOADING
    server = serve(half_plus_two(1), half_plus_two(2), half_plus_two(3, state=VersionState.END), unknown)
    server.models.names.append("not looked for yet")
    assert server.ask("GET", "/models.json").json == [
        {"name": "half_plus_two", "versions": [2, 1], "labels": {"stable": 1}},
        {"name": "sums", "versions": [], "labels": {}},
        {"name": "not looked for yet", "versions": [], "labels": {}},
    ]


def test_the_card_of_a_version(serve, tmp_path):
    with_card, without = half_plus_two(1), half_plus_two(2)
    with_card.model = without.model = "half & half"
    with_card.folder, without.folder = tmp_path / "1", tmp_path / "2"
    card = {"exported": "2026-01-02T03:04:05Z", "inputs": {}, "examples": [], "entries": {}, "metrics": {}}
    files.write_json(with_card.folder / "assets.extra/card.json", {**card, "measured_on": "test"})
    server = serve(with_card, without)
    answer = server.ask("GET", "/cards/half%20%26%20half/1.json")
    assert answer.status == 200 and answer.json.items() >= {**card, "measured_on": "test"}.items()
    assert server.ask("GET", "/cards/half%20%26%20half/2.json").json is None
    for path in ("/cards/half%20%26%20half/3.json", "/cards/..%2F1/1.json", f"/cards/x/{2**64}.json"):
        assert server.ask("GET", path).status == 404
    assert server.ask("POST", "/cards/half%20%26%20half/1.json").status == 404
