"""TF Serving's gRPC services: PredictionService, and ModelService for status and configuration."""

import asyncio
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
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest
from tensorflow_serving.apis.inference_pb2 import InferenceTask, MultiInferenceRequest, MultiInferenceResponse
from tensorflow_serving.apis.input_pb2 import Input
from tensorflow_serving.apis.model_management_pb2 import ReloadConfigRequest, ReloadConfigResponse
from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse
from tensorflow_serving.apis.regression_pb2 import RegressionRequest, RegressionResponse, RegressionResult

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.signature import CLASSIFY, DEFAULT, REGRESS, Signature
from tfattn.serving.api.tensors import fill, from_proto
from tfattn.serving.models.version import Version
from tfattn.serving.protocols import core
from tfattn.serving.protocols.rpc.calls import HandlerFactory, RpcCall, convert

PREDICTION_SERVICE, MODEL_SERVICE = "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"


def handlers(factory: HandlerFactory) -> dict[str, dict[str, grpc.RpcMethodHandler]]:
    """Return the handlers by service and method name."""
    return {
        PREDICTION_SERVICE: {
            "Predict": factory.handler("predict", PredictRequest, predict),
            "Classify": factory.handler("classify", ClassificationRequest, classify),
            "Regress": factory.handler("regress", RegressionRequest, regress),
            "MultiInference": factory.handler("multi_inference", MultiInferenceRequest, multi_inference),
            "GetModelMetadata": factory.handler("metadata", GetModelMetadataRequest, metadata, counted=False),
        },
        MODEL_SERVICE: {
            "GetModelStatus": factory.handler("status", GetModelStatusRequest, status, counted=False),
            "HandleReloadConfigRequest": factory.handler("reload", ReloadConfigRequest, reload, counted=False),
        },
    }


async def predict(request: PredictRequest, call: RpcCall) -> bytes:
    """Compute output tensors of input tensors."""
    version = call.find(request)
    signature = core.find_signature(version, request.model_spec.signature_name)
    core.check_inputs(signature, request.inputs)  # before tensors are parsed: a short message can describe large ones
    with version.use():
        inputs = await convert(call.size, _input_arrays, request)
        _check_rows(_num_rows(inputs, signature), call.max_rows)
        _, outputs = await core.predict(
            version, signature.name, inputs, outputs=request.output_filter, deadline=call.deadline
        )
    size = sum(array.nbytes for array in outputs.values())
    return await convert(size, _serialize_outputs, request.model_spec, version, outputs)


async def classify(request: ClassificationRequest, call: RpcCall) -> bytes:
    """Classify examples."""
    version = call.find(request)
    response = ClassificationResponse(model_spec=_answering_spec(request.model_spec, version))
    with version.use():
        examples = await convert(call.size, _examples, request.input, call.max_rows)
        response.result.CopyFrom(await _classify(version, response.model_spec, examples, call))
    return response.SerializeToString()


async def regress(request: RegressionRequest, call: RpcCall) -> bytes:
    """Compute a number for each example."""
    version = call.find(request)
    response = RegressionResponse(model_spec=_answering_spec(request.model_spec, version))
    with version.use():
        examples = await convert(call.size, _examples, request.input, call.max_rows)
        response.result.CopyFrom(await _regress(version, response.model_spec, examples, call))
    return response.SerializeToString()


async def multi_inference(request: MultiInferenceRequest, call: RpcCall) -> bytes:
    """Run the same examples through several signatures of the version in the first task."""
    version = call.find(request.tasks[0] if request.tasks else InferenceTask(model_spec=ModelSpec()))
    _check_tasks(request.tasks, version)
    response = MultiInferenceResponse()
    with version.use():
        examples = await convert(call.size, _examples, request.input, call.max_rows)
        for task in request.tasks:
            result = response.results.add(model_spec=_answering_spec(task.model_spec, version))
            if task.method_name == CLASSIFY:
                result.classification_result.CopyFrom(await _classify(version, result.model_spec, examples, call))
            else:
                result.regression_result.CopyFrom(await _regress(version, result.model_spec, examples, call))
    return response.SerializeToString()


async def metadata(request: GetModelMetadataRequest, call: RpcCall) -> bytes:
    """Return the signatures of a version."""
    if request.HasField("model_spec"):  # a missing model_spec is reported first, by `find`
        if not request.metadata_field:
            raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != core.SIGNATURE_DEF:
                raise invalid(f"Metadata field {field} is not supported")
    return core.metadata(call.find(request)).SerializeToString()


async def status(request: GetModelStatusRequest, call: RpcCall) -> bytes:
    """Return the states of a model's versions. A label is ignored, like in TF Serving."""
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    spec = request.model_spec
    number = spec.version.value if spec.HasField("version") else None
    return core.model_status(call.models, spec.name, number).SerializeToString()


async def reload(request: ReloadConfigRequest, call: RpcCall) -> bytes:
    """Serve another list of models, even if the client disconnects meanwhile."""
    if request.config.WhichOneof("config") != "model_config_list":
        raise invalid(
            "ServerModelConfig type not supported by HandleReloadConfigRequest. "
            "Only ModelConfigList is currently supported"
        )
    await asyncio.shield(call.models.reload(request.config))
    response = ReloadConfigResponse()
    response.status.error_code = grpc.StatusCode.OK.value[0]
    return response.SerializeToString()


def _input_arrays(request: PredictRequest) -> dict[str, np.ndarray]:
    return {name: from_proto(name, tensor) for name, tensor in request.inputs.items()}


def _serialize_outputs(requested: ModelSpec, version: Version, outputs: dict[str, np.ndarray]) -> bytes:
    response = PredictResponse(model_spec=_answering_spec(requested, version))
    for name, array in outputs.items():
        fill(response.outputs[name], array)
    return response.SerializeToString()


def _answering_spec(requested: ModelSpec, version: Version) -> ModelSpec:
    """Return the model_spec of a response, with the number of the version that answers."""
    spec = ModelSpec(name=requested.name, signature_name=requested.signature_name or DEFAULT)
    spec.version.value = version.number
    return spec


def _examples(message: Input, max_rows: int) -> list[bytes]:
    """Serialize examples, each after its context: concatenated messages are merged when parsed."""
    with_context = message.WhichOneof("kind") == "example_list_with_context"
    example_list = message.example_list_with_context if with_context else message.example_list
    _check_rows(len(example_list.examples), max_rows)
    context = example_list.context.SerializeToString() if with_context else b""
    return [context + example.SerializeToString() for example in example_list.examples]


def _num_rows(inputs: dict[str, np.ndarray], signature: Signature) -> int:
    return max(
        (len(array) for name, array in inputs.items() if array.ndim and signature.inputs[name].has_rows), default=0
    )


def _check_rows(num_rows: int, max_rows: int) -> None:
    if num_rows > max_rows:
        raise invalid(f"{num_rows} rows exceed the server's limit of {max_rows} rows per request")


async def _classify(version: Version, spec: ModelSpec, examples: list[bytes], call: RpcCall) -> ClassificationResult:
    result = ClassificationResult()
    for row in await core.classify(version, spec.signature_name, examples, deadline=call.deadline):
        classifications = result.classifications.add()
        for label, score in row:
            classifications.classes.add(label=label, score=score)
    return result


async def _regress(version: Version, spec: ModelSpec, examples: list[bytes], call: RpcCall) -> RegressionResult:
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
