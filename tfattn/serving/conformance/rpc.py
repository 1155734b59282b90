"""Rows 62 to 71 and 74 to 75: Predict over gRPC."""

import numpy as np
import tensorflow as tf
from grpc import StatusCode
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse

from tfattn.serving.conformance.check import Mismatch, check, either
from tfattn.serving.conformance.expect import Server, equal, rpc_refused

MESSAGE_LIMIT = 1024  # characters, beyond which TF Serving cuts messages
BEYOND_DEFAULT = 5 * 2**20  # bytes: more than gRPC takes by default
LARGE = 40 * 2**20


@check(62, "Predict: all outputs, the version that answered, the signature's name")
def predict(server: Server) -> None:
    answer = server.call(server.prediction.Predict, request(x=[1.0, 2.0]))
    _outputs(answer, y=[2.5, 3.0])
    spec = answer.model_spec
    equal(("half_plus_two", 3, "serving_default"), (spec.name, spec.version.value, spec.signature_name), "model_spec")


@check(62, "Predict of a version and of a label")
def predict_versions(server: Server) -> None:
    by_version, by_label = (request("half_plus_two", "version", x=[1.0]) for _ in range(2))
    by_version.model_spec.version.value = 1
    by_label.model_spec.version_label = "stable"
    for asked, version in ((by_version, 1), (by_label, 2)):
        answer = server.call(server.prediction.Predict, asked)
        equal((version, "version"), (answer.model_spec.version.value, answer.model_spec.signature_name), "model_spec")
        _outputs(answer, version=[version])


@check(63, "Predict without a ModelSpec, or a name in it")
def no_name(server: Server) -> None:
    no_spec, empty = request(x=[1.0]), request(x=[1.0])
    no_spec.ClearField("model_spec")
    empty.model_spec.Clear()
    empty.model_spec.SetInParent()
    _refused(server, no_spec, StatusCode.INVALID_ARGUMENT, "Missing ModelSpec")
    _refused(server, empty, StatusCode.INVALID_ARGUMENT, "ModelSpec has no name specified.")


@check(64, "Predict of an unknown model or version")
def unknown(server: Server) -> None:
    message = "Servable not found for request: "
    _refused(server, request("nobody", x=[1.0]), StatusCode.NOT_FOUND, f"{message}Latest(nobody)")
    asked = request(x=[1.0])
    asked.model_spec.version.value = 99
    _refused(server, asked, StatusCode.NOT_FOUND, f"{message}Specific(half_plus_two, 99)")


@check(65, "Predict of an unknown label")
def unknown_label(server: Server) -> None:
    asked = request(x=[1.0])
    asked.model_spec.version_label = "nobody"
    _refused(server, asked, StatusCode.INVALID_ARGUMENT, "Unrecognized servable version label: nobody")


@check(66, "Predict with an unknown signature: FAILED_PRECONDITION")
def unknown_signature(server: Server) -> None:
    asked = request("half_plus_two", "nobody", x=[1.0])
    _refused(server, asked, StatusCode.FAILED_PRECONDITION, 'Serving signature key "nobody" not found.')


@check(67, "Predict with the wrong number of inputs")
def wrong_number(server: Server) -> None:
    message = (
        "input size does not match signature: 2!=1 len({a,b}) != len({x}). Sent extra: {a,b}. "
        "Missing but required: {x}."
    )
    _refused(server, request(a=[1.0], b=[2.0]), StatusCode.INVALID_ARGUMENT, message)
    _refused(server, request(), StatusCode.INVALID_ARGUMENT, "input size does not match signature: 0!=1")


@check(68, "Predict with an input of another name")
def wrong_name(server: Server) -> None:
    _outputs(server.call(server.prediction.Predict, request(x=[1.0])), y=[2.5])
    _refused(server, request(z=[1.0]), StatusCode.INVALID_ARGUMENT)


@check(69, "Predict with an input of another type")
def wrong_type(server: Server) -> None:
    asked = request(x=["one"])
    _refused(server, asked, StatusCode.INVALID_ARGUMENT, "Expects arg[0] to be float but string is provided")


@check(70, "a tensor as raw content, as values, and as one value that stands for all")
def encodings(server: Server) -> None:
    content, values, splat = (TensorProto(dtype=tf.float32.as_datatype_enum) for _ in range(3))
    content.tensor_content = np.array([1.0, 2.0], np.float32).tobytes()
    values.float_val.extend([1.0, 2.0])
    splat.float_val.append(1.0)
    for tensor, expected in ((content, [2.5, 3.0]), (values, [2.5, 3.0]), (splat, [2.5, 2.5])):
        tensor.tensor_shape.dim.add(size=2)
        _outputs(server.call(server.prediction.Predict, _with(x=tensor)), y=expected)


@check(70, "broken tensors")
def broken(server: Server) -> None:
    cut, negative, no_type = (TensorProto(dtype=tf.float32.as_datatype_enum) for _ in range(3))
    cut.tensor_shape.dim.add(size=2)
    cut.tensor_content = b"\0\0\0"
    negative.tensor_shape.dim.add(size=-2)
    no_type.dtype = 0
    for tensor in (cut, negative, no_type):
        _refused(server, _with(x=tensor), StatusCode.INVALID_ARGUMENT, "tensor parsing error: x")


@check(71, "output_filter: one output, none named, an unknown one, one twice")
def output_filter(server: Server) -> None:
    answer = server.call(server.prediction.Predict, _filtered("sum"))
    _outputs(answer, sum=[3.0])
    _outputs(server.call(server.prediction.Predict, _filtered()), sum=[3.0], difference=[-1.0])
    message = "output tensor alias not found in signature: z Outputs expected to be in the set {difference,sum}."
    _refused(server, _filtered("z"), StatusCode.INVALID_ARGUMENT, message)
    duplicate = "duplicate output tensor alias: sum"
    _refused(server, _filtered("sum", "sum"), StatusCode.INVALID_ARGUMENT, duplicate)


@check(74, "a message of more than 1024 characters is cut")
def long_message(server: Server) -> None:
    asked = request("half_plus_two", "s" * 2 * MESSAGE_LIMIT, x=[1.0])
    refusal = rpc_refused(server, server.prediction.Predict, asked, StatusCode.FAILED_PRECONDITION, "...TRUNCATED")
    if not refusal.message.endswith("...TRUNCATED") or len(refusal.message) > MESSAGE_LIMIT + len("...TRUNCATED"):
        raise Mismatch(f"{MESSAGE_LIMIT} characters and ...TRUNCATED", f"{len(refusal.message)} characters")


@check(75, "messages of more than gRPC's default of 4 MiB")
def large_message(server: Server) -> None:
    _outputs(server.call(server.prediction.Predict, _wide(BEYOND_DEFAULT)), y=[BEYOND_DEFAULT / 4])


@check(75, "messages of 40 MiB")
def very_large_message(server: Server) -> str | None:
    _outputs(server.call(server.prediction.Predict, _wide(4)), y=[1.0])

    def answers() -> None:
        _outputs(server.call(server.prediction.Predict, _wide(LARGE)), y=[LARGE / 4])

    def refuses() -> None:
        _refused(server, _wide(LARGE), StatusCode.RESOURCE_EXHAUSTED)

    return either(answers, "caps", refuses)


def request(model: str = "half_plus_two", signature: str = "", **inputs: list) -> PredictRequest:
    """Make a request to predict; floats as float32."""
    tensors = {}
    for name, values in inputs.items():
        type_ = tf.string if values and isinstance(values[0], str | bytes) else tf.float32
        tensors[name] = tf.make_tensor_proto(values, type_)
    asked = _with(**tensors)
    asked.model_spec.name, asked.model_spec.signature_name = model, signature
    return asked


def _with(**tensors: TensorProto) -> PredictRequest:
    asked = PredictRequest()
    asked.model_spec.name = "half_plus_two"
    for name, tensor in tensors.items():
        asked.inputs[name].CopyFrom(tensor)
    return asked


def _filtered(*names: str) -> PredictRequest:
    asked = request("types", a=[1.0], b=[2.0])
    asked.output_filter.extend(names)
    return asked


def _wide(size: int) -> PredictRequest:
    asked = request("types", "wide")
    tensor = asked.inputs["x"]
    tensor.CopyFrom(tf.make_tensor_proto(np.ones([1, size // 4], np.float32)))
    return asked


def _outputs(answer: PredictResponse, **expected: list) -> None:
    received = {name: tf.make_ndarray(proto).tolist() for name, proto in answer.outputs.items()}
    equal(expected, received, "outputs")


def _refused(server: Server, asked: PredictRequest, code: StatusCode, *parts: str) -> None:
    rpc_refused(server, server.prediction.Predict, asked, code, *parts)
