"""The models of a server, and the lookup of versions for requests."""

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from grpc import StatusCode
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig, ModelServerConfig

from tfattn.errors import ServingError
from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.engine.batching_parameters import BatchingParameters
from tfattn.serving.models import models_config
from tfattn.serving.models.model import ServedModel
from tfattn.serving.models.version import Version
from tfattn.serving.monitoring.logs import log
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.section import Serving


class Models:
    """The models of a models.config, each with the versions that its policy selects and that can be loaded.

    All methods run on one event loop. A request that has found a version holds `version.use()` until it has run.

    Args:
        serving: the server's settings.
        config: the configuration of the models.
        parameters: the parameters of batching; None computes each request alone.
        metrics: the server's metrics.
        make_version: creates a version, with the arguments of `Version`.

    Attributes:
        draining: whether the server is shutting down. It still answers requests, but asks clients to close connections.

    Example:
        >>> models = Models(serving, read_config(Path("saved_models")), parameters=None, metrics=Metrics())
        >>> await models.start()
        >>> models.find("factory_reports").number
        1753869876
    """

    def __init__(
        self,
        serving: Serving,
        config: ModelServerConfig,
        *,
        parameters: BatchingParameters | None,
        metrics: Metrics,
        make_version: Callable[..., Version] = Version,
    ):
        self._serving, self._config = serving, config
        self._parameters, self._metrics, self._make_version = parameters, metrics, make_version
        self._models: dict[str, ServedModel] = {}
        self._labels: dict[str, dict[str, int]] | None = None
        self._is_started = False
        self.draining = False
        self._load_lock = asyncio.Lock()
        self._change_lock = asyncio.Lock()
        self._stopping: set[asyncio.Task[None]] = set()

    @property
    def names(self) -> list[str]:
        """The names of the models in the order of the configuration."""
        return list(self._models)

    @property
    def ready(self) -> bool:
        """Whether every model has an available version whose process runs, and the server is not shutting down."""
        is_started = self._labels is not None and not self.draining
        return is_started and all(model.is_answering for model in self._models.values())

    @property
    def readiness(self) -> str:
        """How many models are available, and how far the others are; without names, which not every prober may know."""
        if self.draining:
            return "The server is shutting down"
        waiting = [model.progress for model in self._models.values() if not model.is_answering]
        total = len(self._models)
        return "; ".join([f"{total - len(waiting)} of {total} models are available", *dict.fromkeys(waiting)])

    def find(self, name: str, version: int | None = None, label: str | None = None) -> Version:
        """Find an available version by number or label; by default, the newest.

        Raises:
            Failure: NOT_FOUND, the version is not available; INVALID_ARGUMENT, the label does not exist; UNAVAILABLE,
                the server is starting and has no labels yet, or has not loaded the model yet.
        """
        number = version if label is None else self._version_of_label(name, label)
        model = self._models.get(name)
        found = model.find(number) if model else None
        if found is None and model and not self._is_started:
            raise Failure(StatusCode.UNAVAILABLE, f"ServedModel {name} is being loaded")
        if found is None:
            asked = f"Latest({name})" if number is None else f"Specific({name}, {number})"
            raise Failure(StatusCode.NOT_FOUND, f"Servable not found for request: {asked}")
        return found

    def status(self, name: str, version: int | None = None) -> list[Version]:
        """Return a model's versions, or a single version, newest first, including recently unloaded versions.

        Raises:
            Failure: NOT_FOUND, the model or version does not exist.
        """
        versions = self._models[name].versions() if name in self._models else []
        if version is not None:
            versions = [found for found in versions if found.number == version]
        if not versions:
            which = "any versions" if version is None else f"version {version}"
            raise Failure(StatusCode.NOT_FOUND, f"Could not find {which} of model {name}")
        return versions

    def version_labels(self, name: str) -> dict[str, int]:
        """Return the version number of each label of a model."""
        return dict(sorted((self._labels or {}).get(name, {}).items()))

    async def start(self) -> None:
        """Load every selected version, without retries, and then follow changes on disk.

        Labels are not checked, because no version is available yet.
        """
        async with self._change_lock:
            await self._change(list(self._config.model_config_list.config))
            self._is_started = True

    async def reload(self, config: ModelServerConfig) -> None:
        """Apply another configuration; return after the first attempt to load each selected version.

        Versions that fail to load are retried later.

        Raises:
            Failure: INVALID_ARGUMENT, the configuration is invalid, or FAILED_PRECONDITION, a label refers to a version
                that is not available; nothing changes in these cases. UNKNOWN, a new model could not be loaded.
        """
        async with self._change_lock:
            entries = list(config.model_config_list.config)
            await self._check(entries)
            self._check_labels(entries)
            before = self._models
            await self._change(entries)
            _check_available([model for name, model in self._models.items() if name not in before])

    async def stop(self) -> None:
        """Unload every version once no request uses it."""
        self._stop_models(self._models.values())
        self._models = {}
        await asyncio.gather(*self._stopping)

    def _version_of_label(self, name: str, label: str) -> int:
        if self._labels is None:
            raise Failure(StatusCode.UNAVAILABLE, f"ServedModel labels does not init yet.{label}")
        number = self._labels.get(name, {}).get(label)
        if number is None:
            raise invalid(f"Unrecognized servable version label: {label}")
        return number

    async def _change(self, entries: list[ModelConfig]) -> None:
        before = self._models
        self._labels = {entry.name: dict(entry.version_labels) for entry in entries}
        self._models = {entry.name: self._add(entry, before.get(entry.name)) for entry in entries}
        for name in before.keys() - self._models.keys():
            log("model_removed", model=name)
            self._stop_models([before[name]])
        await asyncio.gather(*(model.settled.wait() for model in self._models.values()))

    def _add(self, entry: ModelConfig, model: ServedModel | None) -> ServedModel:
        if model is None:
            log("model_added", model=entry.name, base_path=entry.base_path)
            return ServedModel(
                entry,
                serving=self._serving,
                make_version=lambda number, folder: self._version(entry.name, number, folder),
                loading=self._load_lock,
            )
        if model.config != entry:
            log("model_changed", model=entry.name, base_path=entry.base_path)
            model.change(entry)
        return model

    def _version(self, name: str, number: int, folder: Path) -> Version:
        return self._make_version(
            name, number, folder, serving=self._serving, parameters=self._parameters, metrics=self._metrics
        )

    def _stop_models(self, models: Iterable[ServedModel]) -> None:
        for model in models:
            task = asyncio.create_task(model.stop())
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)

    async def _check(self, entries: list[ModelConfig]) -> None:
        for index, entry in enumerate(entries):
            try:
                models_config.check(entry, earlier=[other.name for other in entries[:index]])
            except ServingError as error:
                raise invalid(str(error)) from None
            known = self._models.get(entry.name)
            is_known = known is not None and known.config.base_path == entry.base_path
            if not is_known and not await asyncio.to_thread(os.path.isdir, entry.base_path):
                raise invalid(f"Could not find base path {entry.base_path} for servable {entry.name}")

    def _check_labels(self, entries: list[ModelConfig]) -> None:
        for entry in entries:
            model = self._models.get(entry.name)
            for label, number in entry.version_labels.items():
                is_available = model is not None and model.find(number) is not None
                before = (self._labels or {}).get(entry.name, {}).get(label, number)
                if not is_available and not (self._serving.labels_for_unavailable and before == number):
                    raise Failure(
                        StatusCode.FAILED_PRECONDITION,
                        f"Request to assign label to version {number} of model {entry.name}, "
                        "which is not currently available for inference",
                    )


def _check_available(models: Iterable[ServedModel]) -> None:
    failed = [
        f"{{name: {version.model} version: {version.number}}} due to error: {version.error.message}"
        for model in models
        if model.find() is None
        for version in model.versions()[:1]
        if version.error
    ]
    if failed:
        message = f"{len(failed)} model(s) did not become available: {{{', '.join(failed)}}}"
        raise Failure(StatusCode.UNKNOWN, message)
