"""Rows 1 to 15: URLs, methods, headers, compression, metrics."""

import gzip
import re

from tfattn.serving.conformance.check import Mismatch, Skipped, check, either
from tfattn.serving.conformance.expect import Answer, Server, answered, refused

MODEL = "/v1/models/half_plus_two"
BODY = '{"instances": [1.0, 2.0]}'
VERSION = '{"signature_name": "version", "instances": [1.0]}'
PREDICTIONS = {"predictions": [2.5, 3.0]}
METRICS = "/monitoring/prometheus/metrics"
INFLATED_CAP = 100 * 2**20  # TF Serving inflates no more


@check(1, "POST of a model, its version and its label: the newest, that one, the labelled one")
def predict_urls(server: Server) -> None:
    for url, version in ((MODEL, 3), (f"{MODEL}/versions/1", 1), (f"{MODEL}/labels/stable", 2)):
        answered(server.post(f"{url}:predict", VERSION), {"predictions": [version]})


@check(2, "an unknown /v1 path: Malformed request")
def unknown_v1_path(server: Server) -> None:
    for method in ("GET", "POST"):
        refused(server.ask(method, "/v1/foo"), 400, f"Malformed request: {method} /v1/foo")


@check(3, "GET /v1/models: Missing model name")
def missing_name(server: Server) -> None:
    refused(server.ask("GET", "/v1/models"), 400, "Missing model name in request.")


@check(4, "the wrong method for a URL, and misspelt versions and labels: Malformed request")
def malformed(server: Server) -> None:
    _malformed(server, "GET", f"{MODEL}:predict")
    for path in ("/v1/models", f"{MODEL}/metadata", f"{MODEL}/version/50:predict", f"{MODEL}/label/x:predict"):
        _malformed(server, "POST", path)


@check(5, "both a version and a label, a version that is no number: Malformed request")
def malformed_versions(server: Server) -> None:
    for path in (f"{MODEL}/versions/1/labels/stable:predict", f"{MODEL}/versions/HELLO:predict"):
        _malformed(server, "POST", path)


@check(6, "a version beyond int64: Failed to convert version")
def huge_version(server: Server) -> None:
    answer = server.post(f"{MODEL}/versions/18446744073709551615:predict", BODY)
    refused(answer, 400, "Failed to convert version: 18446744073709551615 to numeric.")


@check(7, "PUT, DELETE, PATCH and HEAD under /v1: Malformed request")
def other_methods(server: Server) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        _malformed(server, method, f"{MODEL}:predict")
    answer = server.ask("HEAD", MODEL)
    if answer.status != 400 or answer.body:
        raise Mismatch("400 without a body", str(answer))


@check(8, "a path outside /v1: 404")
def outside(server: Server) -> str | None:
    answer = server.ask("GET", "/nothing/here")
    return either(lambda: _is_html(answer), "not_found_json", lambda: refused(answer, 404))


@check(9, "the URL's case does not matter, the method's does")
def case(server: Server) -> None:
    answered(server.post("/V1/Models/half_plus_two:predict", BODY), PREDICTIONS)
    _malformed(server, "POST", f"{MODEL}:PREDICT")


@check(10, "a query is part of the path")
def query(server: Server) -> str | None:
    posted = server.post(f"{MODEL}:predict?x=1", BODY)
    got, plain = server.ask("GET", f"{MODEL}?x=1"), server.ask("GET", MODEL)

    def as_tf_serving() -> None:
        refused(posted, 400, f"Malformed request: POST {MODEL}:predict?x=1")
        refused(got, 404, "Could not find any versions of model half_plus_two?x=1")

    def ignored() -> None:
        answered(posted, PREDICTIONS)
        answered(got, plain.json)

    return either(as_tf_serving, "query", ignored)


@check(11, "a percent-encoded name is decoded after the URL is matched, and only names a model")
def encoded(server: Server) -> None:
    answered(server.post("/v1/models/half%5Fplus%5Ftwo:predict", BODY), PREDICTIONS)
    answer = server.post("/v1/models/..%2Fhalf_plus_two:predict", BODY)
    refused(answer, 404, "Servable not found for request: Latest(../half_plus_two)")


@check(12, "OPTIONS without Origin: 400 and no body")
def options_without_origin(server: Server) -> None:
    _is_empty(server.ask("OPTIONS", f"{MODEL}:predict"), 400)


@check(12, "OPTIONS with Origin: 200, no body, the headers for other origins where they are enabled")
def options(server: Server) -> None:
    answer = server.ask("OPTIONS", f"{MODEL}:predict", Origin="https://example.org")
    _is_empty(answer, 200)
    if "access-control-allow-origin" not in answer.headers:
        raise Skipped("needs --rest_api_enable_cors_support=true (tfattn: cors=true)")
    wanted = {"origin": "*", "methods": "POST, GET", "headers": "Content-Type"}
    received = {name: answer.headers.get(f"access-control-allow-{name}") for name in wanted}
    if received != wanted:
        raise Mismatch(f"Access-Control-Allow-... {wanted}", str(received))


@check(13, "the request's Content-Type does not matter")
def content_type(server: Server) -> str | None:
    answered(server.post(f"{MODEL}:predict", BODY), PREDICTIONS)
    for kind in ("application/json", "application/x-www-form-urlencoded"):
        answered(server.post(f"{MODEL}:predict", BODY, Content_Type=kind), PREDICTIONS)
    others = [server.post(f"{MODEL}:predict", BODY, Content_Type=kind) for kind in ("text/plain", "nonsense")]
    return either(
        lambda: [answered(answer, PREDICTIONS) for answer in others],
        "browser_safety",
        lambda: [refused(answer, 415) for answer in others],
    )


@check(14, "a gzip body is inflated")
def gzip_body(server: Server) -> None:
    answered(_compressed(server, gzip.compress(BODY.encode())), PREDICTIONS)


@check(14, "a broken gzip body is as an empty one")
def broken_gzip_body(server: Server) -> None:
    for body in (b"not gzip", gzip.compress(BODY.encode())[:20]):
        refused(_compressed(server, body), 400, "The document is empty")


@check(14, "a gzip body that grows beyond 100 MB is as an empty one, and the server lives")
def gzip_bomb(server: Server) -> str | None:
    answer = _compressed(server, gzip.compress(BODY.encode() + b" " * INFLATED_CAP))
    answered(server.post(f"{MODEL}:predict", BODY), PREDICTIONS)

    def capped() -> None:
        refused(answer, answer.status if answer.status in (400, 413) else 413)

    return either(lambda: refused(answer, 400, "The document is empty"), "caps", capped)


@check(15, "metrics: Prometheus text under TF Serving's names, and a request counts")
def metrics(server: Server) -> None:
    before = _requests(server)
    answered(server.post(f"{MODEL}:predict", BODY), PREDICTIONS)
    after = _requests(server)
    if after <= before:
        raise Mismatch(f"a request_count beyond {before:g} after another request", f"{after:g}")


def _malformed(server: Server, method: str, path: str) -> None:
    refused(server.ask(method, path, BODY if method != "GET" else ""), 400, f"Malformed request: {method} {path}")


def _compressed(server: Server, body: bytes) -> Answer:
    return server.post(f"{MODEL}:predict", body, Content_Encoding="gzip")


def _is_empty(answer: Answer, status: int) -> None:
    if answer.status != status or answer.body:
        raise Mismatch(f"{status} without a body", str(answer))


def _is_html(answer: Answer) -> None:
    if answer.status != 404 or "html" not in answer.body.decode("utf-8", "replace").lower():
        raise Mismatch("404 with HTML", str(answer))


def _requests(server: Server) -> float:
    """Read the server's count of successful requests to the model."""
    answer = server.ask("GET", METRICS)
    if answer.status == 404:
        raise Skipped("needs --monitoring_config_file with prometheus_config { enable: true }")
    text = answer.body.decode("utf-8", "replace")
    kind = answer.headers.get("content-type", "")
    names = [f":tensorflow:serving:{name}" for name in ("request_count", "request_latency", "runtime_latency")]
    if answer.status != 200 or not kind.startswith("text/plain"):
        raise Mismatch("200 as text/plain", f"{kind} {answer}")
    for part in ("# TYPE", *names):
        if part not in text:
            raise Mismatch(f"metrics with `{part}`", str(answer))
    counts = re.findall(rf"^{names[0]}\{{([^}}]*)\}} ([0-9.e+]+)", text, re.MULTILINE)
    return sum(float(n) for labels, n in counts if 'model_name="half_plus_two"' in labels and 'status="OK"' in labels)
