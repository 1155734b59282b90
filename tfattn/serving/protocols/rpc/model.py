"""ModelService: GetModelStatus and HandleReloadConfigRequest."""

import asyncio

import grpc
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest
from tensorflow_serving.apis.model_management_pb2 import ReloadConfigRequest, ReloadConfigResponse

from tfattn.serving.api.failure import invalid
from tfattn.serving.protocols import core
from tfattn.serving.protocols.rpc.calls import HandlerFactory, RpcCall

NAME = "tensorflow.serving.ModelService"


def handlers(factory: HandlerFactory) -> dict[str, grpc.RpcMethodHandler]:
    """Return the handlers by method name."""
    return {
        "GetModelStatus": factory.handler("status", GetModelStatusRequest, status, counted=False),
        "HandleReloadConfigRequest": factory.handler("reload", ReloadConfigRequest, reload, counted=False),
    }


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
