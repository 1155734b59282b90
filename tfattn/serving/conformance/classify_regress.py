"""Rows 51 to 54: classify and regress in JSON."""

from typing import Any

from tfattn.serving.conformance.check import check
from tfattn.serving.conformance.expect import answered, refused
from tfattn.serving.conformance.server import Answer, Server

MODEL = "/v1/models/half_plus_two"


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
