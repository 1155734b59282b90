"""Rows 34 to 40: the tensors of JSON values."""

import math

from tfattn.serving.conformance.check import check, either
from tfattn.serving.conformance.expect import answered, refused, same_float32
from tfattn.serving.conformance.server import Answer, Server

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


@check(39, "b64 with another key beside it, or of no string")
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
