"""Requests over gRPC, with tensors as messages of TensorFlow."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from grpc import StatusCode
from tensorflow.core.framework.types_pb2 import DT_STRING, DataType
from tensorflow_serving.apis.classification_pb2 import ClassificationRequest
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest, SignatureDefMap
from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.tensors import from_proto, to_proto
from tfattn.serving.client.row_values import decoded
from tfattn.serving.client.transports.address import Address, Function, Metadata, Spec

_TOO_LARGE = "message larger than max"  # the request is too large, like HTTP status 413
_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # By default, a channel would reconnect after a second or more.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5000),
]


class Rpc:
    """A transport over gRPC; any number of threads may use it.

    Methods raise the Failure of the server's response, or UNAVAILABLE if the server cannot be reached.

    Args:
        address: the server's address.
        token: the bearer token.
        authority: a PEM file of trusted certificates; None for those of the system.
        timeout: seconds to wait for each response.
    """

    def __init__(self, address: Address, *, token: str | None, authority: Path | None, timeout: float):
        self._timeout = timeout
        self._metadata = [("authorization", f"Bearer {token}")] if token else []
        if address.is_encrypted:
            credentials = grpc.ssl_channel_credentials(Path(authority).read_bytes() if authority else None)
            self._channel = grpc.secure_channel(address.target, credentials, _OPTIONS)
        else:
            self._channel = grpc.insecure_channel(address.target, _OPTIONS)
        self._service = PredictionServiceStub(self._channel)

    def metadata(self, spec: Spec) -> Metadata:
        """Request the signatures of a version."""
        request = GetModelMetadataRequest(model_spec=_message(spec), metadata_field=["signature_def"])
        response = self._ask(self._service.GetModelMetadata, request)
        known = SignatureDefMap()
        response.metadata["signature_def"].Unpack(known)
        return Metadata(
            version=response.model_spec.version.value,
            signatures={
                name: Function(
                    inputs={key: DataType.Name(tensor.dtype) for key, tensor in signature.inputs.items()},
                    lists=frozenset(
                        key
                        for key, tensor in signature.inputs.items()
                        if tensor.dtype == DT_STRING and len(tensor.tensor_shape.dim) == 2
                    ),
                    optional=frozenset(signature.defaults),
                    outputs=tuple(sorted(signature.outputs)),
                )
                for name, signature in known.signature_def.items()
            },
        )

    def predict(
        self, spec: Spec, name: str, function: Function, rows: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Request the outputs of each row by name."""
        request = PredictRequest(model_spec=_message(spec, name))
        for key in rows[0]:
            request.inputs[key].CopyFrom(to_proto(_column(key, function.inputs[key], [row[key] for row in rows])))
        outputs = self._ask(self._service.Predict, request).outputs
        columns = {key: decoded(from_proto(key, outputs[key]).tolist()) for key in sorted(outputs)}
        for key, column in columns.items():
            if not isinstance(column, list) or len(column) != len(rows):
                raise invalid(f"The output {key} has not one value a row")
        return [{key: column[index] for key, column in columns.items()} for index in range(len(rows))]

    def labels(self, spec: Spec, example: Mapping[str, Any]) -> tuple[str, ...]:
        """Request the names of the classes in the order of the scores."""
        request = ClassificationRequest(model_spec=_message(spec, "classify"))
        features = request.input.example_list.examples.add().features.feature
        for name, value in example.items():
            if isinstance(value, str | bytes):
                features[name].bytes_list.value.append(_encoded(value))
            elif isinstance(value, float):
                features[name].float_list.value.append(value)
            else:
                features[name].int64_list.value.append(value)
        (classes,) = self._ask(self._service.Classify, request).result.classifications
        return tuple(scored.label for scored in classes.classes)

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    def _ask(self, method: Callable, request: Any) -> Any:
        try:
            return method(request, timeout=self._timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            said = error.details() or error.code().name
            raise Failure(StatusCode.INVALID_ARGUMENT if _TOO_LARGE in said else error.code(), said) from None


def _message(spec: Spec, signature: str = "") -> ModelSpec:
    message = ModelSpec(name=spec.model, signature_name=signature)
    if spec.version is not None:
        message.version.value = spec.version
    elif spec.label is not None:
        message.version_label = spec.label
    return message


def _column(name: str, dtype: str, values: list[Any]) -> np.ndarray:
    try:
        if dtype == "DT_STRING":
            return np.array(_encoded(values), object)
        return np.array(values, tf.as_dtype(DataType.Value(dtype)).as_numpy_dtype)
    except (TypeError, ValueError) as error:
        raise invalid(f"The values of {name} do not make a tensor of {dtype}: {error}") from None


def _encoded(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_encoded(item) for item in value]
    return value.encode() if isinstance(value, str) else value
