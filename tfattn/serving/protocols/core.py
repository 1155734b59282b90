"""Request handling that both protocols share: check a request against its signature, run it, check the outputs.

Status codes and messages are TF Serving's, so that clients work with both servers. A caller that awaits between finding
a version and running it must hold `version.use()`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import tensorflow as tf
from grpc import StatusCode
from tensorflow.core.framework.types_pb2 import DataType
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataResponse, SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.signature import DEFAULT, Signature
from tfattn.serving.api.tensors import strings, type_name
from tfattn.serving.models.models import Models
from tfattn.serving.models.version import Version
from tfattn.serving.monitoring.logs import log
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.section import Serving

# The input of classification and regression signatures: serialized tf.Examples.
EXAMPLES = tf.saved_model.CLASSIFY_INPUTS
CLASSES, SCORES = tf.saved_model.CLASSIFY_OUTPUT_CLASSES, tf.saved_model.CLASSIFY_OUTPUT_SCORES
VALUES = tf.saved_model.REGRESS_OUTPUTS
SIGNATURE_DEF = "signature_def"  # the only metadata field


@dataclass(frozen=True)
class RequestRecord:
    """The record of a finished request, for the metrics and the log.

    Attributes:
        entrypoint: the protocol.
        api: the method, such as "predict"; empty if the request is malformed.
        model: the requested name.
        version: the version that answered; None without an answer.
        code: the final status.
        seconds: the time from arrival to end.
    """

    entrypoint: Literal["REST", "GRPC"]
    api: str
    model: str
    version: Version | None
    code: StatusCode
    seconds: float

    def write(self, models: Models, serving: Serving, metrics: Metrics) -> None:
        """Count the request, and log it if the server logs requests; without names of models that are not served."""
        facts = {"api": self.api, "entrypoint": self.entrypoint, "code": self.code, "seconds": self.seconds}
        model = self.model if self.model in models.names else ""
        number = self.version.number if self.version else None
        metrics.request(model, number, **facts)
        if serving.log_requests:
            log("request", model=model, version=number, **facts)


async def predict(
    version: Version,
    signature_name: str,
    inputs: Mapping[str, np.ndarray],
    *,
    outputs: Sequence[str] = (),
    deadline: float | None,
) -> tuple[str, dict[str, np.ndarray]]:
    """Compute outputs of a signature of any method.

    Args:
        version: the version of the model.
        signature_name: the signature's name; empty for the default.
        inputs: arrays by input name.
        outputs: the names of the outputs to compute; all outputs if empty.
        deadline: the time in the event loop's clock after which the request fails; None for no deadline.

    Returns:
        The signature's name, and the arrays by output name.

    Raises:
        Failure: FAILED_PRECONDITION, the model has no such signature (with the message of TF Serving's gRPC API; REST
            checks the name first, with another message); INVALID_ARGUMENT, the names, number or types of inputs do not
            fit the signature; or the computation failed.
    """
    signature = find_signature(version, signature_name)
    check_inputs(signature, inputs)
    _check_outputs(signature, outputs)
    return signature.name, await _run(version, signature, signature.completed(inputs), tuple(outputs), deadline)


def find_signature(version: Version, name: str) -> Signature:
    """Return the signature of a name, or the default signature for an empty name.

    Raises:
        Failure: FAILED_PRECONDITION, the model has no such signature.
    """
    name = name or DEFAULT
    if name not in version.signatures:
        raise Failure(StatusCode.FAILED_PRECONDITION, f'Serving signature key "{name}" not found.')
    return version.signatures[name]


def check_inputs(signature: Signature, names: Collection[str]) -> None:
    """Check the names of inputs against a signature before their tensors are parsed, like TF Serving.

    Raises:
        Failure: INVALID_ARGUMENT, the names do not fit the signature.
    """
    names, known = set(names), signature.inputs
    if names == known.keys():
        return
    if len(names) > len(known) or (len(names) < len(known) and not signature.defaults):
        raise invalid(
            f"input size does not match signature: {len(names)}!={len(known)} "
            f"len({_set(names)}) != len({_set(known)}). Sent extra: {_set(names - known.keys())}. "
            f"Missing but required: {_set(known.keys() - names)}."
        )
    if unknown := sorted(names - known.keys()):
        raise invalid(
            f"input tensor alias not found in signature: {unknown[0]}. Inputs expected to be in the set {_set(known)}."
        )
    if required := sorted(known.keys() - names - signature.defaults):
        feed_name = known[required[0]].tensor_name
        raise invalid(
            f"Signature input alias: {required[0]}(feed name: {feed_name}) not found in request and no "
            f"default value provided in signature. Inputs expected to be in the set {_set(known)}."
        )


async def classify(
    version: Version, signature_name: str, examples: Sequence[bytes], *, deadline: float | None
) -> list[list[tuple[str, float]]]:
    """Classify serialized tf.Examples with a signature that has the output `classes`, `scores` or both.

    Returns:
        The classes of each example, each a label (empty if the model has no labels) and a float32 score (0 if the model
        has no scores).

    Raises:
        Failure: INVALID_ARGUMENT, the model has no such classification signature, or there are no examples; or the
            computation failed.
    """
    signature = _example_signature(version, signature_name, "classification")
    returned = tuple(name for name in (CLASSES, SCORES) if name in signature.outputs)
    if len(signature.outputs) > 2:
        raise invalid(f"Expected one or two output Tensors, found {len(signature.outputs)}")
    if not returned:
        raise invalid(
            'Expected classification signature outputs to contain at least one of "classes" or "scores". '
            f"Signature was: {signature.name} with {_set(signature.outputs)}"
        )
    outputs = await _run(version, signature, _example_inputs(examples), returned, deadline)
    for name in returned:
        _check_classes(name, outputs[name], len(examples))
    shapes = [outputs[name].shape for name in returned]
    if shapes[0] != shapes[-1]:
        raise invalid(f"Tensors class and score should match in dim_size(1). Got {shapes[0][1]} vs. {shapes[1][1]}")
    labels = outputs[CLASSES].tolist() if CLASSES in returned else [[b""] * shapes[0][1]] * len(examples)
    scores = outputs[SCORES].tolist() if SCORES in returned else [[0.0] * shapes[0][1]] * len(examples)
    return [
        [(label.decode(errors="replace"), score) for label, score in zip(*row, strict=True)]
        for row in zip(labels, scores, strict=True)
    ]


async def regress(
    version: Version, signature_name: str, examples: Sequence[bytes], *, deadline: float | None
) -> list[float]:
    """Compute a float32 number for each serialized tf.Example with a signature whose only output is `outputs`.

    Raises:
        Failure: INVALID_ARGUMENT, the model has no such regression signature, or there are no examples; or the
            computation failed.
    """
    signature = _example_signature(version, signature_name, "regression")
    if len(signature.outputs) != 1:
        raise invalid("Expected one output Tensor.")
    if VALUES not in signature.outputs:
        raise invalid(f"No regression outputs found in SignatureDef: {signature.name} with {_set(signature.outputs)}")
    outputs = await _run(version, signature, _example_inputs(examples), (VALUES,), deadline)
    values = outputs[VALUES]
    if values.ndim not in (1, 2) or (values.ndim == 2 and values.shape[1] != 1):
        shape = _shape(values)
        raise invalid(f"Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got {shape}")
    if len(values) != len(examples):
        raise invalid(f"Input batch size did not match output batch size: {len(examples)} vs. {len(values)}")
    if values.dtype != np.float32:
        raise invalid(f"Expected output Tensor of DT_FLOAT.  Got: {_type(values)}")
    return values.ravel().tolist()


def metadata(version: Version) -> GetModelMetadataResponse:
    """Return the signatures of a version."""
    response = GetModelMetadataResponse()
    response.model_spec.name = version.model
    response.model_spec.version.value = version.number
    signatures = SignatureDefMap(
        signature_def={name: signature.message for name, signature in version.signatures.items()}
    )
    response.metadata[SIGNATURE_DEF].Pack(signatures)
    return response


def model_status(models: Models, name: str, version: int | None = None) -> GetModelStatusResponse:
    """Return the states of a model's versions, newest first, or the state of a single version.

    Raises:
        Failure: NOT_FOUND, the model or version does not exist.
    """
    response = GetModelStatusResponse()
    for found in models.status(name, version):
        status = response.model_version_status.add(version=found.number, state=found.state.value)
        status.status.error_code = found.error.code.value[0] if found.error else 0
        status.status.error_message = found.error.message if found.error else ""
    return response


async def _run(
    version: Version,
    signature: Signature,
    inputs: Mapping[str, np.ndarray],
    outputs: tuple[str, ...],
    deadline: float | None,
) -> dict[str, np.ndarray]:
    for index, (name, tensor) in enumerate(signature.inputs.items()):
        # Only the type: like in TF Serving, the model itself refuses invalid shapes.
        if inputs[name].dtype != tensor.numpy_dtype:
            expected, received = type_name(tensor.dtype), type_name(tf.as_dtype(inputs[name].dtype))
            location = f" for the input {name}" if len(signature.inputs) > 1 else ""
            raise invalid(f"Expects arg[{index}] to be {expected} but {received} is provided{location}")
    return await version.run(signature.name, inputs, outputs, deadline)


def _check_outputs(signature: Signature, outputs: Sequence[str]) -> None:
    for index, name in enumerate(outputs):
        if name not in signature.outputs:
            known = _set(signature.outputs)
            raise invalid(
                f"output tensor alias not found in signature: {name} Outputs expected to be in the set {known}."
            )
        if name in outputs[:index]:
            raise invalid(f"duplicate output tensor alias: {name}")


def _example_signature(version: Version, name: str, kind: str) -> Signature:
    name = name or DEFAULT
    signature = version.signatures.get(name)
    if signature is None:
        raise invalid(f"No signature was found with the name: {name}")
    if len(signature.inputs) != 1:
        raise invalid("Expected one input Tensor.")
    if EXAMPLES not in signature.inputs:
        raise invalid(f"No {kind} inputs found in SignatureDef: {name} with {_set(signature.inputs)}")
    return signature


def _example_inputs(examples: Sequence[bytes]) -> dict[str, np.ndarray]:
    if not examples:
        raise invalid("Input is empty.")
    return {EXAMPLES: strings(examples)}


def _check_classes(name: str, values: np.ndarray, num_examples: int) -> None:
    if values.ndim != 2:
        raise invalid(f"Expected Tensor shape: [batch_size num_classes] but got {_shape(values)}")
    expected, right = ("DT_STRING", object) if name == CLASSES else ("DT_FLOAT", np.float32)
    if values.dtype != right:
        raise invalid(f"Expected {name} Tensor of {expected}. Got: {_type(values)}")
    if len(values) != num_examples:
        raise invalid(f"Expected {name} output batch size of {num_examples}. Got: {len(values)}")


def _set(names: Iterable[str]) -> str:
    return "{" + ",".join(sorted(names)) + "}"


def _shape(values: np.ndarray) -> str:
    return f"[{','.join(map(str, values.shape))}]"


def _type(values: np.ndarray) -> str:
    return DataType.Name(tf.as_dtype(values.dtype).as_datatype_enum)
