"""Rows 76, 77, 79 and 80: metadata, status, classify and regress, and health over gRPC."""

import contextlib
import time
from collections.abc import Mapping
from typing import TypeVar

import grpc
import tensorflow as tf
from grpc import StatusCode
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from tensorflow.core.protobuf.meta_graph_pb2 import TensorInfo
from tensorflow_serving.apis.classification_pb2 import ClassificationRequest, ClassificationResult
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest, SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest
from tensorflow_serving.apis.inference_pb2 import MultiInferenceRequest
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse
from tensorflow_serving.apis.regression_pb2 import RegressionRequest

from tfattn.serving.api.signature import CLASSIFY, REGRESS
from tfattn.serving.conformance.check import Mismatch, Skipped, check
from tfattn.serving.conformance.expect import (
    ANSWER_SECONDS,
    Answer,
    Server,
    answered,
    equal,
    received,
    refused,
    rpc_refused,
)
from tfattn.serving.conformance.rpc import request

Request = TypeVar("Request", ClassificationRequest, RegressionRequest)


@check(76, "GetModelMetadata: the signatures and the version")
def metadata(server: Server) -> None:
    answer = server.call(server.prediction.GetModelMetadata, _metadata("half_plus_two", "signature_def"))
    equal(("half_plus_two", 3), (answer.model_spec.name, answer.model_spec.version.value), "model_spec")
    signatures = SignatureDefMap()
    if not answer.metadata["signature_def"].Unpack(signatures):
        raise Mismatch("a SignatureDefMap", str(answer.metadata["signature_def"].type_url))
    default = signatures.signature_def["serving_default"]
    equal(({"x": "x:0"}, {"y": "y:0"}), (_names(default.inputs), _names(default.outputs)), "tensors")


@check(76, "GetModelMetadata of no field, an unknown one, an unknown model")
def wrong_metadata(server: Server) -> None:
    for asked, code, message in (
        (_metadata("half_plus_two"), StatusCode.INVALID_ARGUMENT, "must specify at least one metadata_field"),
        (_metadata("half_plus_two", "f"), StatusCode.INVALID_ARGUMENT, "Metadata field f is not supported"),
        (_metadata("nobody", "signature_def"), StatusCode.NOT_FOUND, "Servable not found for request: Latest(nobody)"),
    ):
        rpc_refused(server, server.prediction.GetModelMetadata, asked, code, message)


@check(77, "GetModelStatus of a model and of a version")
def status(server: Server) -> None:
    equal(dict.fromkeys((1, 2, 3), "AVAILABLE"), server.states("half_plus_two"), "states")
    answer = server.call(server.model_service.GetModelStatus, _status("half_plus_two", 1))
    equal([1], [one.version for one in answer.model_version_status], "versions")


@check(77, "GetModelStatus without a ModelSpec, of an unknown model or version")
def wrong_status(server: Server) -> None:
    method = server.model_service.GetModelStatus
    rpc_refused(server, method, GetModelStatusRequest(), StatusCode.INVALID_ARGUMENT, "Missing ModelSpec")
    message = "Could not find any versions of model nobody"
    rpc_refused(server, method, _status("nobody"), StatusCode.NOT_FOUND, message)
    message = "Could not find version 99 of model half_plus_two"
    rpc_refused(server, method, _status("half_plus_two", 99), StatusCode.NOT_FOUND, message)


@check(79, "Classify and Regress, of examples and of examples with a context")
def classify_regress(server: Server) -> None:
    classified = server.call(server.prediction.Classify, _examples(ClassificationRequest(), "classify_labels", 20.0))
    equal([[("large", 12.0)]], _classes(classified.result), "classifications")
    equal(3, classified.model_spec.version.value, "the version")
    regressed = server.call(server.prediction.Regress, _examples(RegressionRequest(), "regress", 80.0, 20.0))
    equal([42.0, 12.0], [one.value for one in regressed.result.regressions], "regressions")
    with_context = _examples(RegressionRequest(), "regress")
    examples = with_context.input.example_list_with_context
    examples.context.CopyFrom(_example(offset=1.0))
    examples.examples.append(_example(x=20.0))
    regressed = server.call(server.prediction.Regress, with_context)
    equal([13.0], [one.value for one in regressed.result.regressions], "regressions")


@check(79, "MultiInference: both in one call")
def multi_inference(server: Server) -> None:
    asked = MultiInferenceRequest()
    for signature, method in (("classify", CLASSIFY), ("regress", REGRESS)):
        task = asked.tasks.add(method_name=method)
        task.model_spec.name, task.model_spec.signature_name = "half_plus_two", signature
    asked.input.example_list.examples.append(_example(x=20.0))
    classified, regressed = server.call(server.prediction.MultiInference, asked).results or (None, None)
    equal([[("", 12.0)]], _classes(classified.classification_result), "classifications")
    equal([12.0], [one.value for one in regressed.regression_result.regressions], "regressions")


@check(79, "Classify, Regress and MultiInference of no examples")
def no_examples(server: Server) -> None:
    service, several = server.prediction, MultiInferenceRequest()
    task = several.tasks.add(method_name=CLASSIFY)
    task.model_spec.name, task.model_spec.signature_name = "half_plus_two", "classify"
    for method, asked in (
        (service.Classify, _examples(ClassificationRequest(), "classify")),
        (service.Regress, _examples(RegressionRequest(), "regress")),
        (service.MultiInference, several),
    ):
        rpc_refused(server, method, asked, StatusCode.INVALID_ARGUMENT, "Input is empty")


@check(80, "grpc.health.v1: both services serve; another is unknown")
def health(server: Server) -> None:
    for service in ("PredictionService", "ModelService"):
        try:
            answer = _health(server, service)
        except grpc.RpcError as error:
            if error.code() == StatusCode.UNIMPLEMENTED:
                raise Skipped("needs --enable_grpc_healthcheck_service=true") from None
            raise Mismatch("SERVING", f"{error.code().name} {error.details()}") from None
        equal(HealthCheckResponse.SERVING, answer.status, f"the health of {service}:")
    try:
        answer = _health(server, "nobody")
    except grpc.RpcError as error:
        equal(StatusCode.NOT_FOUND, error.code(), "for an unknown service")
    else:
        raise Mismatch("NOT_FOUND for an unknown service", str(answer))


def _metadata(model: str, *fields: str) -> GetModelMetadataRequest:
    asked = GetModelMetadataRequest(metadata_field=fields)
    asked.model_spec.name = model
    return asked


def _status(model: str, version: int | None = None) -> GetModelStatusRequest:
    asked = GetModelStatusRequest()
    asked.model_spec.name = model
    if version is not None:
        asked.model_spec.version.value = version
    return asked


def _names(tensors: Mapping[str, TensorInfo]) -> dict[str, str]:
    return {name: tensor.name for name, tensor in tensors.items()}


def _example(**features: float) -> tf.train.Example:
    example = tf.train.Example()
    for name, value in features.items():
        example.features.feature[name].float_list.value.append(value)
    return example


def _examples(asked: Request, signature: str, *values: float) -> Request:
    asked.model_spec.name, asked.model_spec.signature_name = "half_plus_two", signature
    asked.input.example_list.examples.extend(_example(x=value) for value in values)
    return asked


def _classes(result: ClassificationResult) -> list[list[tuple[str, float]]]:
    return [[(one.label, one.score) for one in classes.classes] for classes in result.classifications]


def _health(server: Server, service: str) -> HealthCheckResponse:
    return HealthStub(server.channel).Check(HealthCheckRequest(service=service), timeout=ANSWER_SECONDS)


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
