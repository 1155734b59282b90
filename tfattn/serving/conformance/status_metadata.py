"""Rows 51 to 61: classify and regress in JSON; status and metadata of models, served or unknown."""

from typing import Any

from tfattn.serving.conformance.check import Mismatch, check, either
from tfattn.serving.conformance.expect import Answer, Server, answered, refused

MODEL = "/v1/models/half_plus_two"
NOBODY = "/v1/models/nobody"
ROWS = {"instances": [1.0]}


@check(55, "the status of a model")
def status(server: Server) -> None:
    answered(server.ask("GET", "/v1/models/types"), {"model_version_status": [_available(7)]})


@check(56, "the status of a version; 404 for an unknown version or model")
def version_status(server: Server) -> None:
    answered(server.ask("GET", f"{MODEL}/versions/1"), {"model_version_status": [_available(1)]})
    answer = server.ask("GET", f"{MODEL}/versions/99")
    refused(answer, 404, "Could not find version 99 of model half_plus_two")
    refused(server.ask("GET", NOBODY), 404, "Could not find any versions of model nobody")


@check(57, "the status of a label is that of all versions, whatever the label")
def label_status(server: Server) -> None:
    for label in ("stable", "nobody"):
        answer = server.ask("GET", f"{MODEL}/labels/{label}")
        answered(answer, {"model_version_status": [_available(version) for version in (3, 2, 1)]})


@check(58, "/v1/health/live and /v1/health/ready are paths like others, or tell the server's health")
def health_paths(server: Server) -> str | None:
    paths = ("/v1/health/live", "/v1/health/ready")
    answers = [server.ask("GET", path) for path in paths]

    def malformed() -> None:
        for path, answer in zip(paths, answers, strict=True):
            refused(answer, 400, f"Malformed request: GET {path}")

    def healthy() -> None:
        for answer in answers:
            if answer.status != 200 or "error" in answer.json:
                raise Mismatch("200", str(answer))

    return either(malformed, "health_paths", healthy)


@check(59, "the metadata of a model and of a version")
def metadata(server: Server) -> None:
    for path, version in ((MODEL, 3), (f"{MODEL}/versions/1", 1), (f"{MODEL}/labels/stable", 2)):
        answer = server.ask("GET", f"{path}/metadata")
        answered(answer, _metadata(version, answer.json))


@check(60, "predictions and metadata of an unknown model or version: 404")
def unknown(server: Server) -> None:
    for path, request in ((NOBODY, "Latest(nobody)"), (f"{MODEL}/versions/99", "Specific(half_plus_two, 99)")):
        message = f"Servable not found for request: {request}"
        refused(server.post(f"{path}:predict", ROWS), 404, message)
        refused(server.ask("GET", f"{path}/metadata"), 404, message)


@check(61, "predictions of an unknown label: 400")
def unknown_label(server: Server) -> None:
    answer = server.post(f"{MODEL}/labels/nobody:predict", ROWS)
    refused(answer, 400, "Unrecognized servable version label: nobody")


def _available(version: int) -> dict[str, Any]:
    status = {"error_code": "OK", "error_message": ""}
    return {"version": str(version), "state": "AVAILABLE", "status": status}


def _metadata(version: int, received: Any) -> dict[str, Any]:
    """Make the expected metadata of half_plus_two; signatures other than the default one are as received."""
    try:
        others = dict(received["metadata"]["signature_def"]["signature_def"])
    except (KeyError, TypeError, ValueError):
        others = {}
    default = {
        "inputs": {"x": _tensor("x:0")},
        "outputs": {"y": _tensor("y:0")},
        "method_name": "tensorflow/serving/predict",
        "defaults": {},
    }
    return {
        "model_spec": {"name": "half_plus_two", "signature_name": "", "version": str(version)},
        "metadata": {"signature_def": {"signature_def": others | {"serving_default": default}}},
    }


def _tensor(name: str) -> dict[str, Any]:
    shape = {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}
    return {"dtype": "DT_FLOAT", "tensor_shape": shape, "name": name}


@check(51, "classify: label and score of each class; no label where the model gives none")
def classify(server: Server) -> None:
    answered(_ask(server, "classify", [{"x": 20.0}]), {"results": [[["", 12.0]]]})
    labels = _ask(server, "classify", [{"x": 20.0}, {"x": 2.0}], signature_name="classify_labels")
    answered(labels, {"results": [[["large", 12.0]], [["small", 3.0]]]})


@check(52, "regress: a number for each example")
def regress(server: Server) -> None:
    answered(_ask(server, "regress", [{"x": 80.0}, {"x": [20.0]}]), {"results": [42.0, 12.0]})


@check(53, "a context is merged into every example, whose own features count first")
def context(server: Server) -> None:
    examples = [{"x": 80.0}, {"x": 20.0, "offset": 1.0}, {}]
    answer = _ask(server, "regress", examples, context={"x": 2.0, "offset": 100.0})
    answered(answer, {"results": [142.0, 13.0, 103.0]})


@check(53, "examples that are missing, no list, or none")
def no_examples(server: Server) -> None:
    for method in ("classify", "regress"):
        url = f"{MODEL}:{method}"
        body = {"signature_name": method}
        refused(server.post(url, body), 400, "key 'examples' is expected and was not found")
        refused(server.post(url, body | {"examples": {"x": 1.0}}), 400, "to be an list/array")
        refused(server.post(url, body | {"examples": []}), 400, "value is an empty array")


@check(53, "features that no tf.Example can hold")
def wrong_features(server: Server) -> None:
    cases = [
        (1.0, "Example must be JSON object but got JSON Number"),
        ([], "Example must be JSON object but got JSON Array"),
        ({"x": None}, "has element with unexpected JSON type: Null"),
        ({"x": [1, "a"]}, "expecting type: int64"),
        ({"x": 2**63}, "Only int64_t is supported."),
    ]
    for example, message in cases:
        refused(_ask(server, "classify", [example]), 400, message)


@check(54, "classify or regress with a signature for predictions, or none of that name")
def predict_signature(server: Server) -> None:
    for method in ("classify", "regress"):
        for signature in ("serving_default", "nobody"):
            refused(_ask(server, method, [{"x": 1.0}], signature_name=signature), 400)
        answer = _ask(server, method, [{"x": 1.0}])
        answered(answer, {"results": [[["", 2.5]]] if method == "classify" else [2.5]})


def _ask(server: Server, method: str, examples: list[Any], **more: Any) -> Answer:
    return server.post(f"{MODEL}:{method}", {"signature_name": method, "examples": examples, **more})
