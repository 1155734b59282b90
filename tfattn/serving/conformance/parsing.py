"""Rows 16 to 33 and 41 to 45: the forms of the body of a predict request."""

import math
from typing import Any

from tfattn.serving.conformance.check import Mismatch, check, either
from tfattn.serving.conformance.expect import Answer, Server, answered, refused, same_float32

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


WRONG_TYPE = "is not of expected type"


@check(34, "a string for a float")
def string_for_float(server: Server) -> None:
    answer = server.predict({"instances": ["x"]})
    refused(answer, 400, 'JSON Value: "x" Type: String is not of expected type: float')


@check(35, "integers for floats and doubles")
def integers_for_floats(server: Server) -> None:
    for signature in ("float32", "float64"):
        answered(server.types(signature, instances=[1, 2]), {"predictions": [1.0, 2.0]})


@check(35, "floats for integers")
def floats_for_integers(server: Server) -> None:
    for signature in ("int32", "int64"):
        refused(server.types(signature, instances=[1.0]), 400, "Type: Number is not of expected type")


@check(35, "booleans for numbers, numbers for booleans")
def booleans(server: Server) -> None:
    for signature in ("float32", "int32", "int64"):
        refused(server.types(signature, instances=[True]), 400, WRONG_TYPE)
    for number in (0, 1, 1.0):
        refused(server.types("bool", instances=[number]), 400, "Type: Number is not of expected type: bool")
    answered(server.types("bool", instances=[True, False]), {"predictions": [True, False]})


@check(35, "null")
def null(server: Server) -> None:
    for signature in ("float32", "int32", "bool"):
        refused(server.types(signature, instances=[None]), 400, "Type: Null")


@check(36, "floats beyond float32 become infinite, tiny ones 0, others the nearest")
def beyond_float32(server: Server) -> None:
    given = [1.7e308, -1.7e308, 1e-300, 1435774380]
    answer = server.types("float32", instances=given)
    answered(answer, {"predictions": same_float32(given, answer)})


@check(36, "a number beyond doubles")
def beyond_double(server: Server) -> None:
    refused(server.predict('{"instances": [1e400]}'), 400, "JSON Parse error: ")


@check(37, "NaN, Infinity and Inf are numbers")
def not_finite(server: Server) -> None:
    answer = server.predict('{"instances": [NaN, Infinity, -Infinity, Inf, -Inf]}')
    answered(answer, {"predictions": [math.nan, math.inf, -math.inf, math.inf, -math.inf]})


@check(37, "nan, inf and the like are not")
def misspelt_not_finite(server: Server) -> None:
    for token in ("Nan", "nan", "inf", "infinity", "INF"):
        refused(server.predict(f'{{"instances": [{token}]}}'), 400, "JSON Parse error: ")


@check(38, "integers beyond their type")
def integer_range(server: Server) -> str | None:
    cases = {"uint8": (300, 44), "int8": (999, -25)}
    answers = {name: server.types(name, instances=[given]) for name, (given, _) in cases.items()}
    for name in cases:
        answered(server.types(name, instances=[7]), {"predictions": [7]})

    def cut() -> None:
        for name, (_, kept) in cases.items():
            answered(answers[name], {"predictions": [kept]})

    def refuses() -> None:
        for answer in answers.values():
            refused(answer, 400)

    return either(cut, "integer_range", refuses)


@check(38, "integers beyond int32 and int64")
def integers_beyond(server: Server) -> None:
    for signature, given in (("int32", 2**31), ("int64", 2**63), ("uint64", -1)):
        refused(server.types(signature, instances=[given]), 400, "Type: Number is not of expected type")


@check(39, "b64 for strings, at any leaf, in rows and columns")
def b64(server: Server) -> None:
    hello = {"b64": "aGVsbG8="}
    expected = {"y": "hello", "y_bytes": hello}
    answered(_strings(server, instances=[hello]), {"predictions": [expected]})
    answered(_strings(server, instances=[{"text": hello}]), {"predictions": [expected]})
    nested = {"y": ["hello"], "y_bytes": [hello]}
    answered(_strings(server, instances=[[hello], ["hello"]]), {"predictions": [nested, nested]})
    for column in ([hello], {"text": [hello]}):
        answered(_strings(server, inputs=column), {"outputs": nested})


@check(39, "b64 with another key, or with a value that is not a string")
def misshapen_b64(server: Server) -> None:
    for value in ({"b64": "aGVsbG8=", "x": 1}, {"b64": 5}):
        for answer in (_strings(server, instances=[[value]]), _strings(server, inputs=[value])):
            refused(answer, 400, "not formatted correctly for base64 data")


@check(39, "b64 of what is no base64")
def broken_b64(server: Server) -> None:
    for text in ("!!!!", "a"):
        refused(_strings(server, inputs={"text": [{"b64": text}]}), 400, "Unable to base64 decode")


@check(39, "b64 for what is no string")
def b64_for_float(server: Server) -> None:
    refused(server.predict({"instances": [[{"b64": "aGVsbG8="}]]}), 400, "Type: Object is not of expected type: float")


@check(40, "half-precision inputs cannot be said in JSON")
def half(server: Server) -> None:
    refused(server.types("from_half", inputs=[1.0]), 501, "Conversion of JSON Value: 1.0 to type: half")


def _strings(server: Server, **body: object) -> Answer:
    return server.types("strings", **body)
