"""ModelService over a real connection."""

from grpc import StatusCode
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest
from tensorflow_serving.apis.model_management_pb2 import ReloadConfigRequest

from tests.serving.stand_ins import Models, half_plus_two
from tfattn.serving.api.failure import Failure
from tfattn.serving.models.version import VersionState


def asked(name="half_plus_two", *, version=None, label=None):
    request = GetModelStatusRequest()
    request.model_spec.name = name
    if version is not None:
        request.model_spec.version.value = version
    if label is not None:
        request.model_spec.version_label = label
    return request


def test_row_77_states_of_versions(server, refused):
    status = server.model.GetModelStatus
    both = status(asked()).model_version_status
    assert [(one.version, one.state, one.status.error_code) for one in both] == [(2, 30, 0), (1, 30, 0)]
    assert [one.version for one in status(asked(version=1)).model_version_status] == [1]
    code, message = refused(status, GetModelStatusRequest())
    assert (code, message) == (StatusCode.INVALID_ARGUMENT, "Missing ModelSpec")
    code, message = refused(status, asked(version=99))
    assert code == StatusCode.NOT_FOUND and message == "Could not find version 99 of model half_plus_two"
    code, message = refused(status, asked("foo"))
    assert code == StatusCode.NOT_FOUND and message == "Could not find any versions of model foo"


def test_row_57_a_label_is_ignored(server):
    assert len(server.model.GetModelStatus(asked(label="unknown")).model_version_status) == 2


def test_a_failed_version_has_its_error(start):
    failed = half_plus_two(3, state=VersionState.END, error=Failure(StatusCode.DATA_LOSS, "saved_model.pb is cut"))
    with start(Models(failed)) as server:
        (one,) = server.model.GetModelStatus(asked()).model_version_status
        assert (one.state, one.status.error_code, one.status.error_message) == (50, 15, "saved_model.pb is cut")


def test_row_78_reload_of_models(server, refused):
    request = ReloadConfigRequest()
    request.config.model_config_list.config.add(name="m", base_path="/models/m", model_platform="tensorflow")
    response = server.model.HandleReloadConfigRequest(request)
    assert response.HasField("status") and response.status.error_code == 0
    assert server.models.reloaded == [request.config]
    request.config.model_config_list.config[0].base_path = ""
    code, message = refused(server.model.HandleReloadConfigRequest, request)
    assert (code, message) == (StatusCode.INVALID_ARGUMENT, "a model has no base_path")


def test_row_78_only_lists_of_models_are_accepted(server, refused):
    request = ReloadConfigRequest()
    code, message = refused(server.model.HandleReloadConfigRequest, request)
    assert code == StatusCode.INVALID_ARGUMENT and "Only ModelConfigList is currently supported" in message
    request.config.custom_model_config.value = b"x"
    assert refused(server.model.HandleReloadConfigRequest, request)[0] == StatusCode.INVALID_ARGUMENT
