"""Comparisons of answers: JSON by meaning, messages by a part of them."""

import math
from collections.abc import Callable
from typing import Any

import grpc
import numpy as np
from google.protobuf.message import Message

from tfattn.serving.conformance.check import Mismatch
from tfattn.serving.conformance.server import ANSWER_SECONDS, Answer, Refusal, Server


def same(expected: Any, received: Any) -> bool:
    """Tell whether two JSON values mean the same: 12 and 12.0 do, 1 and true do not."""
    if isinstance(expected, dict) and isinstance(received, dict):
        return expected.keys() == received.keys() and all(same(expected[key], received[key]) for key in expected)
    if isinstance(expected, list) and isinstance(received, list):
        return len(expected) == len(received) and all(map(same, expected, received))
    if _is_number(expected) and _is_number(received):
        return expected == received or (math.isnan(expected) and math.isnan(received))
    return type(expected) is type(received) and expected == received


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def answered(answer: Answer, expected: Any) -> None:
    """Expect status 200, and JSON of this meaning."""
    if answer.status != 200 or not same(expected, answer.json):
        raise Mismatch(f"200 {expected}", str(answer))
    is_json(answer)


def same_float32(given: list[float], answer: Answer) -> list[float]:
    """Make the predictions to expect where floats went through float32: as received, if equal in float32."""
    received = answer.json.get("predictions") if isinstance(answer.json, dict) else None
    if not isinstance(received, list) or len(received) != len(given) or not all(map(_is_number, received)):
        return given
    with np.errstate(over="ignore", under="ignore"):
        pairs = zip(np.array(given, np.float32), np.array(received, np.float32), given, received, strict=True)
    return [came if meant == said else sent for meant, said, sent, came in pairs]


def is_json(answer: Answer) -> None:
    """Expect JSON as the content type."""
    kind = answer.headers.get("content-type", "none")
    if kind.split(";")[0] != "application/json":
        raise Mismatch("Content-Type: application/json", f"Content-Type: {kind}")


def refused(answer: Answer, status: int, *parts: str) -> None:
    """Expect this status, and {"error": a message with these parts}."""
    shown = " ... ".join(parts)
    if answer.status != status:
        raise Mismatch(f"{status} {shown}", str(answer))
    body = answer.json
    message = body.get("error") if isinstance(body, dict) and len(body) == 1 else None
    if not isinstance(message, str) or not message or not all(part in message for part in parts):
        raise Mismatch(f'{status} {{"error": "{shown}"}}', str(answer))
    is_json(answer)


def rpc_refused(server: Server, method: Callable, request: Message, code: grpc.StatusCode, *parts: str) -> Refusal:
    """Expect that the call is refused with this code, and a message with these parts."""
    expected = " ".join((code.name, " ... ".join(parts))).strip()
    try:
        answer = method(request, timeout=ANSWER_SECONDS)
    except grpc.RpcError as error:
        refusal = Refusal(error.code(), error.details() or "")
    else:
        raise Mismatch(expected, f"OK {answer}")
    if refusal.code != code or not all(part in refusal.message for part in parts):
        raise Mismatch(expected, str(refusal))
    return refusal


def equal(expected: Any, received: Any, of: str) -> None:
    """Expect that two values are equal; `of` names them."""
    if expected != received:
        raise Mismatch(f"{of} {expected}", str(received))
