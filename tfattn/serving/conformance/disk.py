"""Rows 55 and 81 to 89: versions are added to and removed from the disk while the server polls it."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest, ModelVersionStatus

from tfattn import files
from tfattn.serving.conformance import fixtures
from tfattn.serving.conformance.check import Mismatch, Skipped, check, either
from tfattn.serving.conformance.expect import PAUSE, Server, equal
from tfattn.serving.conformance.rpc import request

MODEL = "on_disk"  # has versions 1 and 2, of which the latest is served
SETTLED = 3.0  # seconds, in which a server polls the disk several times
RETRIES = 60.0  # seconds, in which a server stops to retry a corrupt version


@check(55, "a version that cannot be loaded: END, with an error")
def failed_status(server: Server) -> None:
    with _added(server, 3, fixtures.write_corrupt_version):
        until = time.monotonic() + min(RETRIES, server.patience)
        while _version(server, 3).state != ModelVersionStatus.END:
            if time.monotonic() > until:
                raise Skipped("needs --max_num_load_retries=0, or --load_retry_interval_micros=100000")
            time.sleep(PAUSE)
        status = _version(server, 3).status
        if not status.error_code or not status.error_message:
            raise Mismatch("an error_code and an error_message", str(status))


@check(81, "a version's folder may have leading zeros; folders that are no numbers are no versions")
def numbers(server: Server) -> None:
    equal({7}, set(server.states("types")), "the versions of `types`")


@check(82, "version policies: all, the latest n, specific ones, the latest where there is none")
def policies(server: Server) -> None:
    for model, expected in (("half_plus_two", {1, 2, 3}), ("slow", {2, 3}), ("types", {7})):
        equal(expected, server.available(model), f"the versions of `{model}`")
    server.wait_until(lambda: len(server.available(MODEL)) == 1, "one version", lambda: server.states(MODEL))


@check(83, "of two folders of one number one is loaded")
def duplicates(server: Server) -> None:
    asked = request("slow", x=[1.0])
    asked.model_spec.version.value = 3
    equal({2: "AVAILABLE", 3: "AVAILABLE"}, server.states("slow"), "the versions of `slow`")
    equal(3, server.call(server.prediction.Predict, asked).model_spec.version.value, "the version")


@check(84, "the model's folder vanishes: nothing changes")
def no_folder(server: Server) -> None:
    _is_served(server)
    with _hidden(server, server.models / MODEL):
        _stays(server, 2)


@check(84, "the folder of the last version vanishes: it is unloaded")
def no_version(server: Server) -> str | None:
    _is_served(server)
    with _hidden(server, server.models / MODEL / "1", server.models / MODEL / "2"):
        until = time.monotonic() + SETTLED
        while (left := server.available(MODEL)) and time.monotonic() < until:
            time.sleep(PAUSE)

    def unloaded() -> None:
        equal(set(), left, "available versions")

    def kept() -> None:
        equal({2}, left, "available versions")

    return either(unloaded, "keep_last_version", kept)


@check(85, "a new version is available before the old one is unloaded, and no request fails meanwhile")
def new_version(server: Server) -> None:
    _without_a_gap(_came_and_went(server).coming)


@check(86, "the latest version vanishes: back to the one before, and no request fails meanwhile")
def roll_back(server: Server) -> None:
    _without_a_gap(_came_and_went(server).going)


@check(87, "a version that cannot be loaded: the old one stays")
def corrupt_version(server: Server) -> None:
    with _added(server, 3, fixtures.write_corrupt_version):
        server.wait_until(lambda: 3 in server.states(MODEL), "version 3 is tried", lambda: server.states(MODEL))
        _stays(server, 2)


@check(88, "the warm-up requests are answered before a version is available")
def warm_up(server: Server) -> None:
    count = _came_and_went(server).count
    if count < 2:
        raise Mismatch("a request that was not the first", f"request {count}")


@check(89, "the default ports: 8500 for gRPC, 8501 for REST")
def ports(server: Server) -> None:
    if urlsplit(server.rest_url).port != 8501 or not server.grpc_address.endswith(":8500"):
        raise Skipped("needs a server that was told no ports, and --rest and --grpc as it says")


@dataclass(frozen=True)
class _Visit:
    """Observations while version 3 was added, with a warm-up request, and removed.

    Attributes:
        coming, going: the available versions at each poll, while version 3 was added and removed.
        count: the value of the request counter in the first response.
    """

    coming: list[set[int]]
    count: int
    going: list[set[int]]


@functools.lru_cache(maxsize=1)  # loading takes seconds, and several checks use the observations
def _came_and_went(server: Server) -> _Visit:
    asked = request(MODEL, "count", x=[1.0])
    _is_served(server)
    fixtures.write_version(server.models / MODEL, "3", fixtures.counted, warm_up=asked)
    try:
        coming = _looks(server, 3)
        counts = server.call(server.prediction.Predict, asked).outputs["count"].int64_val
    finally:
        files.remove_folder(server.models / MODEL / "3")
    return _Visit(coming, max(counts, default=0), _looks(server, 2))


@contextlib.contextmanager
def _added(server: Server, number: int, write: Callable[[Path, str], None]) -> Iterator[None]:
    """Add a version; afterwards remove it, and wait until the server has restored its versions."""
    _is_served(server)
    folder = server.models / MODEL
    write(folder, str(number))
    try:
        yield
    finally:
        files.remove_folder(folder / str(number))
        _is_served(server)


@contextlib.contextmanager
def _hidden(server: Server, *folders: Path) -> Iterator[None]:
    """Hide folders, and restore them afterwards in reverse order."""
    away = {folder: folder.with_name(f".{folder.name}.away") for folder in folders}
    for folder, hidden in away.items():
        folder.rename(hidden)
    try:
        yield
    finally:
        for folder, hidden in reversed(away.items()):
            hidden.rename(folder)
        _is_served(server)


def _is_served(server: Server) -> None:
    """Wait until the server serves the initial versions."""
    _ = server.models
    expected = "version 2 alone is available"
    server.wait_until(lambda: server.available(MODEL) == {2}, expected, lambda: server.states(MODEL))


def _stays(server: Server, version: int) -> None:
    """Check for some time that only this version is available and answers."""
    until = time.monotonic() + min(SETTLED, server.patience)
    while time.monotonic() < until:
        equal({version}, server.available(MODEL), "available versions")
        equal(version, _answering(server), "the version that answers")
        time.sleep(PAUSE)


def _looks(server: Server, version: int) -> list[set[int]]:
    """Return the available versions at each poll until only this version is available; requests must succeed."""
    looks: list[set[int]] = []

    def is_alone() -> bool:
        _answering(server)
        looks.append(server.available(MODEL))
        return looks[-1] == {version}

    server.wait_until(is_alone, f"version {version} alone is available", lambda: server.states(MODEL))
    equal(version, _answering(server), "the version that answers")
    return looks


def _without_a_gap(looks: list[set[int]]) -> None:
    if not all(looks):
        raise Mismatch("an available version at any time", str(looks))


def _answering(server: Server) -> int:
    """Return the version that answers."""
    answer = server.call(server.prediction.Predict, request(MODEL, "version", x=[1.0]))
    equal([answer.model_spec.version.value], list(answer.outputs["version"].int64_val), "the version's own number")
    return answer.model_spec.version.value


def _version(server: Server, number: int) -> ModelVersionStatus:
    asked = GetModelStatusRequest()
    asked.model_spec.name = MODEL
    listed = server.call(server.model_service.GetModelStatus, asked).model_version_status
    return next((one for one in listed if one.version == number), ModelVersionStatus())
