"""Rows 58 and 78: reloading of the configuration."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from grpc import StatusCode
from tensorflow_serving.apis.model_management_pb2 import ReloadConfigRequest
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig, ModelServerConfig

from tfattn import files
from tfattn.serving.conformance import fixtures
from tfattn.serving.conformance.check import Mismatch, Skipped, check
from tfattn.serving.conformance.expect import ANSWER_SECONDS, PAUSE, Server, answered, equal, rpc_refused
from tfattn.serving.conformance.rpc import request

WARM_UP_TIME = 2000.0  # milliseconds


@contextlib.contextmanager
def reloaded(server: Server, config: ModelServerConfig) -> Iterator[None]:
    """Reload a configuration; afterwards, the initial configuration."""
    try:
        reload(server, config)
        yield
    finally:
        reload(server, server.config())


def reload(server: Server, config: ModelServerConfig) -> None:
    """Reload a configuration, and wait until its models are loaded."""
    asked = ReloadConfigRequest(config=config)
    answer = server.call(server.model_service.HandleReloadConfigRequest, asked)
    equal(0, answer.status.error_code, "status.error_code")


@check(78, "a reload of anything but a list of models changes nothing")
def wrong_reload(server: Server) -> None:
    method = server.model_service.HandleReloadConfigRequest
    asked = ReloadConfigRequest()
    asked.config.custom_model_config.SetInParent()
    for wrong in (ReloadConfigRequest(), asked):
        rpc_refused(server, method, wrong, StatusCode.INVALID_ARGUMENT)
        equal({1, 2, 3}, server.available("half_plus_two"), "the versions of `half_plus_two`")


@check(78, "a reload gives a version another label")
def reload_label(server: Server) -> None:
    config = server.config()
    _half_plus_two(config).version_labels["canary"] = 3
    with reloaded(server, config):
        asked = request("half_plus_two", "version", x=[1.0])
        asked.model_spec.version_label = "canary"
        equal(3, server.call(server.prediction.Predict, asked).model_spec.version.value, "the version of the label")
    message = "Unrecognized servable version label: canary"
    rpc_refused(server, server.prediction.Predict, asked, StatusCode.INVALID_ARGUMENT, message)


@check(78, "a label must not be moved to a version that is not available")
def reload_moved_label(server: Server) -> None:
    config = server.config()
    _half_plus_two(config).version_labels["stable"] = 99
    _refuses_label(server, config)


@check(78, "nor a new one given to such a version, unless the server allows that")
def reload_new_label(server: Server) -> None:
    config = server.config()
    _half_plus_two(config).version_labels["future"] = 99
    asked = request("half_plus_two", "version", x=[1.0])
    asked.model_spec.version_label = "future"
    try:
        with reloaded(server, config):
            rpc_refused(server, server.prediction.Predict, asked, StatusCode.NOT_FOUND, "Servable not found")
    except Mismatch:
        _refuses_label(server, config)
    else:
        raise Skipped("the server was started with --allow_version_labels_for_unavailable_models=true")


@check(58, "the status of a model of which nothing is available yet: 200")
def status_of_loading(server: Server) -> None:
    folder, config = server.models / "warming", server.config()
    config.model_config_list.config.append(fixtures.model_config(_base(config), "warming"))
    with contextlib.ExitStack() as stack:
        fixtures.write_version(folder, "1", fixtures.slow, warm_up=request("warming", x=[WARM_UP_TIME]))
        stack.callback(files.remove_folder, folder)
        reloading = server.model_service.HandleReloadConfigRequest.future(
            ReloadConfigRequest(config=config), timeout=ANSWER_SECONDS
        )
        stack.callback(lambda: reload(server, server.config()))
        seen = _states_over_rest(server, until=reloading.done)
        equal(0, reloading.result().status.error_code, "status.error_code")
        if not any("AVAILABLE" not in states for states in seen):
            raise Mismatch("a status without AVAILABLE while the model is warmed up", str(seen))
        answered(server.predict({"instances": [1.0]}, "warming"), {"predictions": [1.0]})


def _refuses_label(server: Server, config: ModelServerConfig) -> None:
    asked = ReloadConfigRequest(config=config)
    method = server.model_service.HandleReloadConfigRequest
    try:
        rpc_refused(server, method, asked, StatusCode.FAILED_PRECONDITION, "not currently available for inference")
    finally:
        reload(server, server.config())


def _half_plus_two(config: ModelServerConfig) -> ModelConfig:
    return next(one for one in config.model_config_list.config if one.name == "half_plus_two")


def _base(config: ModelServerConfig) -> Path:
    """Return the folder of the models as the server sees it."""
    return Path(config.model_config_list.config[0].base_path).parent


def _states_over_rest(server: Server, until: Callable[[], bool]) -> list[list[str]]:
    """Return the states of the versions of `warming` at each poll, once there are any."""
    seen = []
    deadline = time.monotonic() + server.patience
    while not until() and time.monotonic() < deadline:
        answer = server.ask("GET", "/v1/models/warming")
        if answer.status == 200:
            seen.append([one["state"] for one in answer.json["model_version_status"]])
        elif answer.status != 404:  # until the server has looked at the folder
            raise Mismatch("200", str(answer))
        time.sleep(PAUSE)
    return seen
