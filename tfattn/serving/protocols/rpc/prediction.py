"""PredictionService: Predict, Classify, Regress, MultiInference and GetModelMetadata."""

from collections.abc import Sequence

import grpc
import numpy as np
from grpc import StatusCode
from tensorflow_serving.apis.classification_pb2 import (
    ClassificationRequest,
    ClassificationResponse,
    ClassificationResult,
)
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest
from tensorflow_serving.apis.inference_pb2 import InferenceTask, MultiInferenceRequest, MultiInferenceResponse
from tensorflow_serving.apis.input_pb2 import Input
from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse
from tensorflow_serving.apis.regression_pb2 import RegressionRequest, RegressionResponse, RegressionResult

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.signature import CLASSIFY, DEFAULT, REGRESS, Signature
from tfattn.serving.api.tensors import fill, from_proto
from tfattn.serving.models.version import Version
from tfattn.serving.protocols import core
from tfattn.serving.protocols.rpc.calls import HandlerFactory, RpcCall, aside

NAME = "tensorflow.serving.PredictionService"


def handlers(factory: HandlerFactory) -> dict[str, grpc.RpcMethodHandler]:
    """Make the handlers by method name."""
    return {
        "Predict": factory.handler("predict", PredictRequest, predict),
        "Classify": factory.handler("classify", ClassificationRequest, classify),
        "Regress": factory.handler("regress", RegressionRequest, regress),
        "MultiInference": factory.handler("multi_inference", MultiInferenceRequest, multi_inference),
        "GetModelMetadata": factory.handler("metadata", GetModelMetadataRequest, metadata, counted=False),
    }


async def predict(request: PredictRequest, call: RpcCall) -> bytes:
    """Compute output tensors of input tensors."""
    version = call.find(request)
    signature = core.find_signature(version, request.model_spec.signature_name)
    core.check_inputs(signature, request.inputs)  # before tensors are made: a short message may stand for many
    with version.use():
        inputs = await aside(call.size, _arrays, request)
        _check_rows(_num_rows(inputs, signature), call.max_rows)
        _, outputs = await core.predict(
            version, signature.name, inputs, outputs=request.output_filter, deadline=call.deadline
        )
    size = sum(array.nbytes for array in outputs.values())
    return await aside(size, _prediction, request.model_spec, version, outputs)


async def classify(request: ClassificationRequest, call: RpcCall) -> bytes:
    """Classify examples."""
    version = call.find(request)
    response = ClassificationResponse(model_spec=_answering(request.model_spec, version))
    with version.use():
        examples = await aside(call.size, _examples, request.input, call.max_rows)
        response.result.CopyFrom(await _classes(version, response.model_spec, examples, call))
    return response.SerializeToString()


async def regress(request: RegressionRequest, call: RpcCall) -> bytes:
    """Compute a number for each example."""
    version = call.find(request)
    response = RegressionResponse(model_spec=_answering(request.model_spec, version))
    with version.use():
        examples = await aside(call.size, _examples, request.input, call.max_rows)
        response.result.CopyFrom(await _numbers(version, response.model_spec, examples, call))
    return response.SerializeToString()


async def multi_inference(request: MultiInferenceRequest, call: RpcCall) -> bytes:
    """Run the same examples through several signatures of a version, that of the first task."""
    version = call.find(request.tasks[0] if request.tasks else InferenceTask(model_spec=ModelSpec()))
    _check_tasks(request.tasks, version)
    response = MultiInferenceResponse()
    with version.use():
        examples = await aside(call.size, _examples, request.input, call.max_rows)
        for task in request.tasks:
            result = response.results.add(model_spec=_answering(task.model_spec, version))
            if task.method_name == CLASSIFY:
                result.classification_result.CopyFrom(await _classes(version, result.model_spec, examples, call))
            else:
                result.regression_result.CopyFrom(await _numbers(version, result.model_spec, examples, call))
    return response.SerializeToString()


async def metadata(request: GetModelMetadataRequest, call: RpcCall) -> bytes:
    """Return the inputs and outputs of a version."""
    if request.HasField("model_spec"):  # what else is wrong comes after its absence
        if not request.metadata_field:
            raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != core.SIGNATURE_DEF:
                raise invalid(f"Metadata field {field} is not supported")
    return core.metadata(call.find(request)).SerializeToString()


def _arrays(request: PredictRequest) -> dict[str, np.ndarray]:
    return {name: from_proto(name, tensor) for name, tensor in request.inputs.items()}


def _prediction(asked: ModelSpec, version: Version, outputs: dict[str, np.ndarray]) -> bytes:
    response = PredictResponse(model_spec=_answering(asked, version))
    for name, array in outputs.items():
        fill(response.outputs[name], array)
    return response.SerializeToString()


def _answering(asked: ModelSpec, version: Version) -> ModelSpec:
    """Name the version that answers, where the request did not."""
    spec = ModelSpec(name=asked.name, signature_name=asked.signature_name or DEFAULT)
    spec.version.value = version.number
    return spec


def _examples(message: Input, max_rows: int) -> list[bytes]:
    """Serialize examples, each joined with its context: joined messages are merged ones."""
    with_context = message.WhichOneof("kind") == "example_list_with_context"
    given = message.example_list_with_context if with_context else message.example_list
    _check_rows(len(given.examples), max_rows)
    context = given.context.SerializeToString() if with_context else b""
    return [context + one.SerializeToString() for one in given.examples]


def _num_rows(inputs: dict[str, np.ndarray], signature: Signature) -> int:
    return max(
        (len(array) for name, array in inputs.items() if array.ndim and signature.inputs[name].has_rows), default=0
    )


def _check_rows(num_rows: int, max_rows: int) -> None:
    if num_rows > max_rows:
        raise invalid(f"{num_rows} rows are more than this server takes at a time: {max_rows}")


async def _classes(version: Version, spec: ModelSpec, examples: list[bytes], call: RpcCall) -> ClassificationResult:
    result = ClassificationResult()
    for row in await core.classify(version, spec.signature_name, examples, deadline=call.deadline):
        classifications = result.classifications.add()
        for label, score in row:
            classifications.classes.add(label=label, score=score)
    return result


async def _numbers(version: Version, spec: ModelSpec, examples: list[bytes], call: RpcCall) -> RegressionResult:
    result = RegressionResult()
    for value in await core.regress(version, spec.signature_name, examples, deadline=call.deadline):
        result.regressions.add(value=value)
    return result


def _check_tasks(tasks: Sequence[InferenceTask], version: Version) -> None:
    names = [task.model_spec.signature_name or DEFAULT for task in tasks]
    for index, (task, name) in enumerate(zip(tasks, names, strict=True)):
        if not task.model_spec.name:
            raise invalid("Found ModelSpec with an empty model name.")
        if task.model_spec.name != version.model:
            raise invalid("All ModelSpecs in a MultiInferenceRequest must access the same model name.")
        if name in names[:index]:
            raise invalid(f"Duplicate evaluation of signature: {name}")
        if name not in version.signatures:
            raise invalid(f"Requested signature not found in model graph: {name}")
        if task.method_name not in (CLASSIFY, REGRESS):
            raise Failure(StatusCode.UNIMPLEMENTED, f"Unsupported signature method_name: {task.method_name}")
