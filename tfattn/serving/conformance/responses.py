"""Rows 46 to 50: tensors in JSON responses."""

import base64
import math
import re

from tfattn.serving.conformance.check import Mismatch, check, either
from tfattn.serving.conformance.expect import Server, answered, refused, same_float32

TEXT = 'hällo \u2028 \U0001f600 \x00 "\\/'
NOT_UTF8 = {"b64": "//5h"}  # ff fe 61


@check(46, "one output stands without its name, several with theirs")
def names(server: Server) -> None:
    answered(server.predict({"instances": [1.0]}), {"predictions": [2.5]})
    answered(server.predict({"inputs": [1.0]}), {"outputs": [2.5]})
    rows = server.predict({"instances": [{"a": 5.0, "b": 2.0}]}, "types")
    answered(rows, {"predictions": [{"sum": 7.0, "difference": 3.0}]})
    columns = server.predict({"inputs": {"a": [5.0], "b": [2.0]}}, "types")
    answered(columns, {"outputs": {"sum": [7.0], "difference": [3.0]}})


@check(47, "outputs of different numbers of rows: refused in rows, fine in columns")
def unequal(server: Server) -> None:
    refused(server.types("unequal", instances=[1.0, 2.0]), 400, "Tensor name: ", "has inconsistent batch size: ")
    answered(server.types("unequal", inputs=[1.0, 2.0]), {"outputs": {"a": [1.0, 2.0], "b": [1.0]}})


@check(47, "an output without rows: refused in rows, fine in columns")
def scalar(server: Server) -> None:
    refused(server.types("scalar", instances=[1.0, 2.0]), 400, "Tensor name: y has no shape information")
    answered(server.types("scalar", inputs=[1.0, 2.0]), {"outputs": 3.0})


@check(48, "no rows")
def no_rows(server: Server) -> None:
    answered(server.types("no_rows", instances=[1.0]), {"predictions": []})
    answered(server.predict({"inputs": []}), {"outputs": []})


@check(49, "strings: b64 objects under names that end in _bytes, text under others")
def strings(server: Server) -> None:
    encoded = {"b64": base64.b64encode(TEXT.encode()).decode()}
    answered(server.types("strings", instances=[TEXT]), {"predictions": [{"y": TEXT, "y_bytes": encoded}]})


@check(49, "strings that are not UTF-8")
def not_utf8(server: Server) -> str | None:
    hello = server.types("strings", instances=["hello"])
    answered(hello, {"predictions": [{"y": "hello", "y_bytes": {"b64": "aGVsbG8="}}]})
    answer = server.types("strings", instances=[NOT_UTF8])

    def raw() -> None:
        if answer.status != 200 or b'"\xff\xfea"' not in answer.body:
            raise Mismatch("200 with the bytes as they are", str(answer))

    def encoded() -> None:
        if answer.status == 400:
            refused(answer, 400)
        else:
            answered(answer, {"predictions": [{"y": NOT_UTF8, "y_bytes": NOT_UTF8}]})

    return either(raw, "bytes_as_b64", encoded)


@check(50, "floats come back as they went, whole ones with .0")
def floats(server: Server) -> None:
    given = [0.1, 0.3, 3.0, 16777216.0, 1.5e-7, 1234.5678, -0.0]
    answer = server.types("float64", instances=given)
    answered(answer, {"predictions": given})
    _has_number(answer.body.decode(), "3.0")
    answer = server.types("float32", instances=given)
    _has_number(answer.body.decode(), "3.0")
    answered(answer, {"predictions": same_float32(given, answer)})


@check(50, "NaN and Infinity as bare words")
def not_finite(server: Server) -> None:
    answer = server.types("float64", instances=[math.nan, math.inf, -math.inf])
    answered(answer, {"predictions": [math.nan, math.inf, -math.inf]})


@check(50, "64-bit integers as numbers, exactly")
def integers(server: Server) -> None:
    for name, given in (("int64", [2**53 + 1, -(2**63), 2**63 - 1]), ("uint64", [2**64 - 1, 0])):
        answered(server.types(name, instances=given), {"predictions": given})


@check(50, "half-precision outputs cannot be said in JSON")
def half(server: Server) -> None:
    refused(server.types("to_half", instances=[1.0]), 400, "Failed to write JSON value for tensor type")


def _has_number(text: str, number: str) -> None:
    if not re.search(rf"[\s\[,]{re.escape(number)}[\s\],]", text):
        raise Mismatch(f"a number written {number}", text)
