"""Requests and responses between a server and the process of a version."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse

from tfattn.serving.api.signature import Signature
from tfattn.serving.api.tensors import fill, from_proto

Arrays = dict[str, np.ndarray]


def request(signature: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> bytes:
    """Write a request to the process."""
    message = PredictRequest(output_filter=outputs)
    message.model_spec.signature_name = signature
    for name, array in inputs.items():
        fill(message.inputs[name], array, as_content=True)
    return message.SerializeToString()


def read_request(body: bytes) -> tuple[str, Arrays, tuple[str, ...]]:
    """Read the signature, the inputs and the names of the wanted outputs."""
    message = PredictRequest.FromString(body)
    inputs = {name: from_proto(name, proto) for name, proto in message.inputs.items()}
    return message.model_spec.signature_name, inputs, tuple(message.output_filter)


def response(outputs: Mapping[str, np.ndarray]) -> bytes:
    """Write a response of the process."""
    message = PredictResponse()
    for name, array in outputs.items():
        fill(message.outputs[name], array, as_content=True)
    return message.SerializeToString()


def read_response(body: bytes) -> Arrays:
    """Read the outputs by name."""
    return {name: from_proto(name, proto) for name, proto in PredictResponse.FromString(body).outputs.items()}


def signatures(known: Iterable[Signature]) -> bytes:
    """Write the signatures of a model."""
    return SignatureDefMap(signature_def={one.name: one.message for one in known}).SerializeToString()


def read_signatures(body: bytes) -> dict[str, Signature]:
    """Read the signatures of a model by name."""
    known = SignatureDefMap.FromString(body).signature_def
    return {name: Signature.of(name, known[name]) for name in sorted(known)}
