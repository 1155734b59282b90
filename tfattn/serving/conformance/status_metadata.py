"""Rows 55 to 61: status and metadata of a server's models, and of models that it does not have."""

from typing import Any

from tfattn.serving.conformance.check import Mismatch, check, either
from tfattn.serving.conformance.expect import answered, refused
from tfattn.serving.conformance.server import Server

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
