"""Every call ends with a status, for any request and any failure."""

import json
import random

import grpc
import numpy as np
import pytest
import tensorflow as tf
from grpc import StatusCode
from tensorflow_serving.apis.classification_pb2 import ClassificationRequest
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from tests.serving.stand_ins import Models, example, half_plus_two
from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rpc.calls import truncated

PREDICTION, MODEL = "/tensorflow.serving.PredictionService/", "/tensorflow.serving.ModelService/"
METHODS = [PREDICTION + name for name in ("Predict", "Classify", "Regress", "MultiInference", "GetModelMetadata")]
METHODS += [MODEL + name for name in ("GetModelStatus", "HandleReloadConfigRequest")]
METHODS += ["/grpc.health.v1.Health/Check"]


def good():
    request = PredictRequest()
    request.model_spec.name = "half_plus_two"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(np.float32([1, 2])))
    return request


def newest(server):
    return server.models.find("half_plus_two")


def test_row_72_a_deadline_cancels_the_call_and_its_computation(server, refused, eventually):
    version = newest(server)
    server.do(version.gate.clear)
    with pytest.raises(grpc.RpcError) as caught:
        server.prediction.Predict(good(), timeout=0.3)
    assert caught.value.code() == StatusCode.DEADLINE_EXCEEDED
    eventually(lambda: version.cancelled == 1 and version.in_use == 0)
    assert version.calls[0][-1] < server.loop.time() + 0.3, "the model knows the deadline"
    eventually(lambda: server.metrics.requests)
    assert server.metrics.requests[0][-1] in (StatusCode.DEADLINE_EXCEEDED, StatusCode.CANCELLED)


def test_without_a_deadline_there_is_none(server):
    server.prediction.Predict(good())
    assert newest(server).calls[0][-1] is None


def test_a_cancelled_call_cancels_its_computation(server, eventually):
    version = newest(server)
    server.do(version.gate.clear)
    call = server.prediction.Predict.future(good())
    eventually(lambda: version.calls)
    call.cancel()
    eventually(lambda: version.cancelled == 1 and version.in_use == 0)
    eventually(lambda: server.metrics.requests)
    assert server.metrics.requests[0][-1] == StatusCode.CANCELLED


def test_row_73_the_code_of_a_full_queue_is_passed_on(server, refused):
    newest(server).error_to_raise = Failure(StatusCode.UNAVAILABLE, "too many wait")
    assert refused(server.prediction.Predict, good()) == (StatusCode.UNAVAILABLE, "too many wait")
    assert server.metrics.requests[0][-1] == StatusCode.UNAVAILABLE


@pytest.mark.parametrize("letter", ["x", "é", "🍇"])
def test_row_74_long_messages_are_truncated(server, refused, letter):
    newest(server).error_to_raise = Failure(StatusCode.INVALID_ARGUMENT, letter * 5000)
    code, message = refused(server.prediction.Predict, good())
    assert code == StatusCode.INVALID_ARGUMENT and message.endswith("...TRUNCATED")
    told = message.removesuffix("...TRUNCATED")
    assert set(told) == {letter} and 1020 < len(told.encode()) <= 1024


def test_short_messages_are_not_truncated():
    assert truncated("x" * 1024) == "x" * 1024
    assert truncated("") == "" and truncated("a lone \ud800") == "a lone ?"


def test_unexpected_exceptions_are_internal_errors(server, refused, capfd):
    newest(server).error_to_raise = ZeroDivisionError("the text of a request")
    code, message = refused(server.prediction.Predict, good())
    assert (code, message) == (StatusCode.INTERNAL, "The server failed. See its log.")
    newest(server).error_to_raise = None
    assert server.prediction.Predict(good()).model_spec.version.value == 2
    (line,) = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert line["event"] == "internal_error" and line["error"] == "ZeroDivisionError"
    assert "stand_ins.py" in line["place"] and "text of a request" not in str(line)


@pytest.mark.parametrize("method", METHODS)
def test_invalid_messages_are_invalid_arguments(server, method):
    with pytest.raises(grpc.RpcError) as caught:
        server.channel.unary_unary(method)(b"\xff\xff\xff", timeout=10)
    assert caught.value.code() == StatusCode.INVALID_ARGUMENT and "The request is not a" in caught.value.details()


def test_short_messages_cannot_describe_large_tensors(server, refused):
    request = good()
    for index in range(1000):
        tensor = request.inputs[f"x{index}"]
        tensor.dtype, tensor.string_val[:] = tf.string.as_datatype_enum, [b"a"]
        tensor.tensor_shape.dim.add(size=2**18)
    code, message = refused(server.prediction.Predict, request)
    assert code == StatusCode.INVALID_ARGUMENT and "input size does not match signature: 1001!=1" in message
    one = good()
    one.inputs["x"].tensor_shape.dim.add(size=2**26)
    code, message = refused(server.prediction.Predict, one)
    assert code == StatusCode.INVALID_ARGUMENT and "elements are not in the message" in message


def test_requests_are_logged_if_configured(start, capfd):
    with start(Models(half_plus_two(2)), log_requests=True) as server:
        server.prediction.Predict(good())
    (line,) = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert line.pop("seconds") > 0 and line.pop("time")
    facts = {"event": "request", "entrypoint": "GRPC", "api": "predict", "model": "half_plus_two", "version": 2}
    assert line == {**facts, "code": "OK"}


def mutated(body: bytes, chance: random.Random) -> bytes:
    changed = bytearray(body)
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(changed) + 1)
        kind = chance.randrange(4)
        if kind == 0 and place < len(changed):
            changed[place] = chance.randrange(256)
        elif kind == 1:
            changed[place:place] = chance.randbytes(chance.randint(1, 8))
        elif kind == 2:
            del changed[place : place + chance.randint(1, 8)]
        else:
            changed[place:place] = changed[chance.randrange(len(changed) + 1) :][:20]
    return bytes(changed)


def test_any_message_is_answered(server):
    chance = random.Random(7)
    classify = ClassificationRequest()
    classify.model_spec.name, classify.model_spec.signature_name = "half_plus_two", "classify"
    classify.input.example_list.examples.extend([example(x=1.0), example(x=2.0, text="a")])
    bodies = {METHODS[0]: good().SerializeToString(), METHODS[1]: classify.SerializeToString()}
    whose = {StatusCode.INVALID_ARGUMENT, StatusCode.NOT_FOUND, StatusCode.FAILED_PRECONDITION, StatusCode.OK}
    seen = set()
    for number in range(1500):
        method = chance.choice(METHODS)
        body = bodies.get(method, bodies[METHODS[0]])
        try:
            server.channel.unary_unary(method)(mutated(body, chance), timeout=10)
        except grpc.RpcError as error:
            seen.add(error.code())
            assert error.code() in whose, error.details()
        if number % 100 == 0:
            assert server.prediction.Predict(good(), timeout=10).model_spec.version.value == 2
    assert {StatusCode.INVALID_ARGUMENT, StatusCode.NOT_FOUND} <= seen
