"""Rows 72 and 73: deadlines, the time limit of REST, and the queue before a batch."""

import contextlib
import time

import grpc
import tensorflow as tf
from grpc import StatusCode
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse

from tfattn.serving.conformance.check import Mismatch, Skipped, check
from tfattn.serving.conformance.expect import answered, refused, rpc_refused
from tfattn.serving.conformance.rpc import request
from tfattn.serving.conformance.server import ANSWER_SECONDS, Answer, Server, received

DEADLINE = 0.3  # seconds
BEYOND_TIMEOUT = 6000.0  # milliseconds: longer than a server to be tested lets a REST request take
BURST = 64
EACH = 100.0  # milliseconds that a batch of the burst takes
# With it, TF Serving refuses answers that are not by rows: rows 32, 47 and 48 want a server without.
SMALL_QUEUE = "max_batch_size { value: 4 } max_enqueued_batches { value: 4 } num_batch_threads { value: 1 }"
_NEEDS_QUEUE = f"needs a queue that {BURST} requests fill: --batching_parameters_file with {SMALL_QUEUE}"


@check(72, "DEADLINE_EXCEEDED at the client's deadline, and the server lives")
def deadline(server: Server) -> None:
    started = time.monotonic()
    try:
        server.prediction.Predict(request("slow", x=[1000.0]), timeout=DEADLINE)
    except grpc.RpcError as error:
        if error.code() != StatusCode.DEADLINE_EXCEEDED:
            raise Mismatch("DEADLINE_EXCEEDED", f"{error.code().name} {error.details()}") from None
    else:
        raise Mismatch(f"DEADLINE_EXCEEDED after {DEADLINE} s", f"OK after {time.monotonic() - started:.3f} s")
    _answers(server.call(server.prediction.Predict, request("slow", x=[1.0])), 1.0)


@check(72, "a REST request beyond the server's time limit: 504")
def rest_timeout(server: Server) -> None:
    body = {"instances": [BEYOND_TIMEOUT]}
    answer = server.post("/v1/models/slow/versions/2:predict", body)
    if answer.status == 200:
        answered(answer, {"predictions": [BEYOND_TIMEOUT]})
        raise Skipped("needs --rest_api_timeout_in_ms=4000 (tfattn: timeout_seconds=4)")
    refused(answer, 504)


@check(73, "what the queue has no room for is refused at once, UNAVAILABLE, and the rest is answered")
def queue_full(server: Server) -> None:
    asked = request("slow", x=[EACH])
    calls = [server.prediction.Predict.future(asked, timeout=ANSWER_SECONDS) for _ in range(BURST)]
    refusals = 0
    for call in calls:
        try:
            _answers(call.result(), EACH)
        except grpc.RpcError as error:
            if error.code() != StatusCode.UNAVAILABLE:
                raise Mismatch("OK or UNAVAILABLE", f"{error.code().name} {error.details()}") from None
            refusals += 1
    if not refusals:
        raise Skipped(_NEEDS_QUEUE)


@check(73, "and over REST: 503")
def rest_queue_full(server: Server) -> None:
    body = f'{{"instances": [{EACH}]}}'
    with contextlib.ExitStack() as stack:
        sent = [stack.enter_context(server.sent("POST", "/v1/models/slow:predict", body)) for _ in range(BURST)]
        answers = [received(connection) for connection in sent]
    if not _count_refused(answers):
        raise Skipped(_NEEDS_QUEUE)


@check(73, "rows of other shapes at the same time: each answered, or FAILED_PRECONDITION where no padding is set")
def other_shapes(server: Server) -> None:
    widths = (1, 2, 3, 4)
    calls = [server.prediction.Predict.future(_wide(width), timeout=ANSWER_SECONDS) for width in widths]
    for call, width in zip(calls, widths, strict=True):
        try:
            _answers(call.result(), float(width))
        except grpc.RpcError as error:
            if error.code() != StatusCode.FAILED_PRECONDITION:
                raise Mismatch("OK or FAILED_PRECONDITION", f"{error.code().name} {error.details()}") from None
    rpc_refused(server, server.prediction.Predict, request("types", "nobody"), StatusCode.FAILED_PRECONDITION)


def _wide(width: int) -> PredictRequest:
    asked = request("types", "wide")
    asked.inputs["x"].CopyFrom(tf.make_tensor_proto([[1.0] * width], tf.float32))
    return asked


def _answers(answer: PredictResponse, expected: float) -> None:
    values = {name: tf.make_ndarray(proto).tolist() for name, proto in answer.outputs.items()}
    if values != {"y": [expected]}:
        raise Mismatch(f"y = [{expected}]", str(values))


def _count_refused(answers: list[Answer]) -> int:
    full = [answer for answer in answers if answer.status == 503]
    for answer in answers:
        if answer.status == 503:
            refused(answer, 503)
        else:
            answered(answer, {"predictions": [EACH]})
    return len(full)
