"""Rows 16 to 33 and 41 to 45: the forms of the body of a predict request."""

from typing import Any

from tfattn.serving.conformance.check import Mismatch, check, either
from tfattn.serving.conformance.expect import answered, refused
from tfattn.serving.conformance.server import Server

DEPTH = 500_000
LONG = 10_000
QUOTED = 600  # a message that quotes at most about 256 bytes of JSON stays below


@check(16, "rows as a plain list")
def plain_rows(server: Server) -> None:
    answered(server.predict({"instances": [1.0, 2.0]}), {"predictions": [2.5, 3.0]})


@check(17, "columns, of one input or by name")
def columns(server: Server) -> None:
    for inputs in ([3.0, 4.0], {"x": [3.0, 4.0]}):
        answered(server.predict({"inputs": inputs}), {"outputs": [3.5, 4.0]})


@check(18, "the default signature by its name; an unknown one: 400")
def signature(server: Server) -> None:
    body = {"signature_name": "serving_default", "instances": [1.0]}
    answered(server.predict(body), {"predictions": [2.5]})
    unknown = server.predict({"signature_name": "nobody", "instances": [1.0]})
    refused(unknown, 400, 'Serving signature name: "nobody" not found in signature def')


@check(19, "signature_name must be a string")
def signature_type(server: Server) -> None:
    _refused(server, {"signature_name": 100, "instances": [1.0]}, "'signature_name' key must be a string value.")


@check(20, "an empty body")
def empty(server: Server) -> None:
    _refused(server, "", "JSON Parse error: The document is empty")


@check(21, "a body that is not JSON")
def not_json(server: Server) -> None:
    _refused(server, "instances = [1, 2]", "JSON Parse error: Invalid value", " at offset: ")


@check(22, "a body that is not an object")
def not_object(server: Server) -> None:
    for body in ("[1]", '"x"'):
        _refused(server, body, "JSON Value: ", "Is not object")


@check(23, "both rows and columns")
def both(server: Server) -> None:
    message = "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist"
    _refused(server, {"instances": [1.0], "inputs": [1.0]}, message)


@check(24, "neither rows nor columns")
def neither(server: Server) -> None:
    _refused(server, {"examples": []}, "Missing 'inputs' or 'instances' key")


@check(25, "rows that are no list, or none")
def no_rows(server: Server) -> None:
    _refused(server, {"instances": 5}, "Expecting 'instances' to be an list/array")
    _refused(server, {"instances": []}, "No values in 'instances' array")


@check(26, "plain rows for two inputs")
def plain_rows_for_two(server: Server) -> None:
    message = (
        "instances is a plain list, but expecting list of objects as multiple input tensors required as per "
        "tensorinfo_map"
    )
    _refused(server, {"instances": [1]}, message, model="types")


@check(27, "rows by name that lack an input or have one too many")
def wrong_names(server: Server) -> None:
    messages = ("Failed to process element: 0", "keys must be equal to: a,b")
    _refused(server, {"instances": [{"a": 1.0}]}, *messages, model="types")
    messages = ("Failed to process element: 0 key: z of 'instances'", "JSON object: does not have named input: z")
    _refused(server, {"instances": [{"a": 1.0, "b": 2.0, "z": 3.0}]}, *messages, model="types")


@check(28, "rows of different kinds")
def mixed_rows(server: Server) -> None:
    _refused(server, {"instances": [{"x": 1.0}, [1.0]]}, "Expecting object but got list at item 1")
    _refused(server, {"instances": [[1.0], {"x": 1.0}]}, "Expecting value/list but got object at item 1")


@check(29, "ragged rows")
def ragged(server: Server) -> None:
    _refused(server, {"instances": [[1, 2], [3, 4], [5, 6, 7]]}, "Expecting tensor size: 2 but got: 3")
    _refused(server, {"instances": [[1, 2], [[5, 6]]]}, "Expecting shape [2] but got: [1,2]")
    _refused(server, {"instances": [[[1, 2], [3]]]}, "Encountered list at unexpected size: ")


@check(30, "columns that lack an input; more than wanted are ignored")
def named_columns(server: Server) -> None:
    _refused(server, {"inputs": {"a": [1.0]}}, "Missing named input: b in 'inputs' object.", model="types")
    answer = server.predict({"inputs": {"a": [5.0], "b": [2.0], "z": [3.0]}}, "types")
    answered(answer, {"outputs": {"sum": [7.0], "difference": [3.0]}})


@check(31, "one plain column for two inputs")
def plain_column_for_two(server: Server) -> None:
    _refused(server, {"inputs": [1.0]}, "inputs is a plain value/list, but expecting an object", model="types")


@check(32, "a scalar as a column")
def scalar_column(server: Server) -> None:
    answered(server.predict({"inputs": {"x": 1.0}}), {"outputs": 2.5})


@check(33, "rows by name for one input")
def named_rows(server: Server) -> None:
    answered(server.predict({"instances": [{"x": 1.0}, {"x": 2.0}]}), {"predictions": [2.5, 3.0]})


@check(41, "unknown keys are ignored")
def unknown_keys(server: Server) -> None:
    answered(server.predict({"nested": [[{"a": [None]}]], "instances": [1.0]}), {"predictions": [2.5]})


@check(42, "what follows the closing brace is ignored")
def trailing(server: Server) -> None:
    for rest in (" and more", "}", '{"instances": [9.0]}'):
        answered(server.predict('{"instances": [1.0]}' + rest), {"predictions": [2.5]})


@check(43, "of equal keys the first counts")
def duplicate_keys(server: Server) -> None:
    answered(server.predict('{"instances": [1.0], "instances": [2.0]}'), {"predictions": [2.5]})
    answered(server.predict('{"inputs": {"x": [1.0], "x": [2.0]}}'), {"outputs": [2.5]})


@check(44, "lists 500,000 deep under a key that is ignored, and the server lives")
def deep(server: Server) -> str | None:
    answer = server.predict('{"deep": ' + "[" * DEPTH + "]" * DEPTH + ', "instances": [1.0]}')
    answered(server.predict({"instances": [1.0]}), {"predictions": [2.5]})
    return either(lambda: answered(answer, {"predictions": [2.5]}), "nesting", lambda: refused(answer, 400))


@check(45, "an error quotes about 256 bytes of the JSON at most")
def long_quotation(server: Server) -> None:
    for body in ({"instances": ["x" * LONG]}, {"instances": 5, "other": list(range(LONG))}):
        answer = server.predict(body)
        refused(answer, 400, "JSON Value: ")
        if len(answer.json["error"]) > QUOTED:
            raise Mismatch(f"a message of at most {QUOTED} characters", f"{len(answer.json['error'])}")


def _refused(server: Server, body: Any, *parts: str, model: str = "half_plus_two") -> None:
    refused(server.predict(body, model), 400, *parts)
