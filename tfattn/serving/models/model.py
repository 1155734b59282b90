"""A served model, whose versions are loaded and unloaded as their folders appear and disappear."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tensorflow_serving.config.model_server_config_pb2 import ModelConfig

from tfattn.serving.api.failure import Failure
from tfattn.serving.models import versions_on_disk
from tfattn.serving.models.version import RESTART_WINDOW, Version, VersionState
from tfattn.serving.models.versions_on_disk import DiskVersion, Scan
from tfattn.serving.monitoring.logs import Errors, Problems, log
from tfattn.serving.section import Serving

MAX_ENDED = 10  # unloaded versions that the status still lists
NEVER = float("inf")
MIN_RETRY_SECONDS, MAX_DOUBLINGS = 1.0, 16  # the backoff before a dead version is loaded again


@dataclass
class ManagedVersion:
    """A version that is loaded or scheduled to load.

    Attributes:
        version: the version; each attempt to load creates a new object.
        found: the folder and files at their last change.
        due: the time of the next attempt in the event loop's clock.
        failures: the number of failed attempts and deaths since it last ran stably.
        available_since: the time it became available in the event loop's clock; None while it is not available.
        has_answered: whether it was ever available. Such a version is retried without limit.
    """

    version: Version
    found: DiskVersion
    due: float
    failures: int = 0
    available_since: float | None = None
    has_answered: bool = False


class ServedModel:
    """A model that serves the versions selected by its policy.

    An available version is not unloaded before its replacement is available: while some selected versions are not
    available, an equal number of other versions stays, the newest first. If the disk has no version left, the newest
    loaded version stays, unless the settings select TF Serving's behavior. Changes of files do not affect a loaded
    version.

    A new version is loaded when its files did not change between two scans, because it may still be being copied. A
    version that failed to load is loaded again when its files change.

    Args:
        config: the model's entry in models.config.
        serving: the server's settings.
        make_version: creates a version from a number and a folder.
        loading: a lock held while a version loads. One model loads at a time, because available versions need the CPU.

    Attributes:
        config: the current entry in models.config.
        settled: set after the first attempt to load each selected version.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        serving: Serving,
        make_version: Callable[[int, Path], Version],
        loading: asyncio.Lock,
    ):
        self.config = config
        self.settled = asyncio.Event()
        self._serving, self._make_version, self._load_lock = serving, make_version, loading
        self._managed: dict[int, ManagedVersion] = {}
        self._ending: dict[int, Version] = {}
        self._ended: dict[int, Version] = {}
        self._unloads: set[asyncio.Task[None]] = set()
        self._is_first_scan = True
        self._problems, self._errors = Problems("problem_on_disk", model=config.name), Errors(model=config.name)
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._running = self._loop.create_task(self._run())

    def find(self, number: int | None = None) -> Version | None:
        """Return the available version of a number, by default the newest; None if it is not available."""
        if number is None:
            return max(self._available(), key=lambda version: version.number, default=None)
        managed = self._managed.get(number)
        return managed.version if managed and managed.version.state is VersionState.AVAILABLE else None

    @property
    def is_answering(self) -> bool:
        """Whether there is an available version whose process runs."""
        return (found := self.find()) is not None and found.is_answering

    @property
    def progress(self) -> str:
        """How far the newest version is on its way to be available."""
        newest = next(iter(self.versions()), None)
        if newest is None:
            return "no version found yet"
        return "failed to load" if newest.error else newest.progress

    def versions(self) -> list[Version]:
        """Return all versions and recently unloaded versions, newest first."""
        current = {number: managed.version for number, managed in self._managed.items()}
        known = {**self._ended, **self._ending, **current}
        return [known[number] for number in sorted(known, reverse=True)]

    def change(self, config: ModelConfig) -> None:
        """Replace the model's entry of models.config."""
        self.config = config
        self._is_first_scan = True
        self.settled.clear()
        self._changed.set()

    async def stop(self) -> None:
        """Stop loading, and unload every version once no request uses it."""
        self._running.cancel()
        await asyncio.wait([self._running])
        self.settled.set()  # releases callers that still wait
        for number in list(self._managed):
            self._remove(number)
        await asyncio.gather(*self._unloads)

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            try:
                has_loaded = await self._step()
            except Exception as error:  # any error; the next scan may succeed
                has_loaded = False
                self._errors.record(error)
            else:
                self._errors.reset()
            if has_loaded or self._changed.is_set():
                continue
            self.settled.set()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), self._serving.poll_seconds)

    async def _step(self) -> bool:
        """Scan the disk and load at most one version; return whether a version was due."""
        if not await self._scan() or self._next() is None:
            return False
        async with self._load_lock:
            # Waiting for the lock may have taken minutes.
            if await self._scan() and (managed := self._next()) is not None:
                await self._load(managed)
        return True

    async def _scan(self) -> bool:
        """Scan the versions on disk; return whether the folder could be read."""
        config = self.config
        try:
            scan = await asyncio.to_thread(
                versions_on_disk.scan,
                Path(config.base_path),
                config.model_version_policy,
                loaded=[version.number for version in self._available()],
            )
        except OSError as error:  # perhaps a disk that is away for a moment: nothing changes
            self._problems.report(f"cannot look for versions: {error}")
            return False
        if config is not self.config:
            return False
        self._problems.report(*scan.problems)
        self._follow(scan)
        return True

    def _follow(self, scan: Scan) -> None:
        for managed in self._managed.values():
            has_died_too_often = managed.version.state is VersionState.END
            if managed.available_since is not None and has_died_too_often:
                if self._loop.time() - managed.available_since >= RESTART_WINDOW:
                    managed.failures = 0
                managed.available_since = None
                self._failed(managed)
        for number, found in scan.wanted.items():
            if number not in self._ending:
                self._track(number, found)
        self._is_first_scan = False
        for number in self._superfluous(scan):
            self._remove(number)

    def _track(self, number: int, found: DiskVersion) -> None:
        stable_after = self._loop.time() + self._serving.poll_seconds
        managed = self._managed.get(number)
        if managed is None:
            version = self._make_version(number, found.folder)
            self._managed[number] = ManagedVersion(version, found, due=0.0 if self._is_first_scan else stable_after)
        elif found.files not in (None, managed.found.files):
            managed.found, managed.due, managed.failures = found, stable_after, 0

    def _superfluous(self, scan: Scan) -> set[int]:
        available = {version.number for version in self._available()}
        missing = len(scan.wanted.keys() - available)
        if not scan.wanted and "keep_last_version" not in self._serving.as_tf_serving:
            missing = 1
        others = sorted(available - scan.wanted.keys(), reverse=True)
        return self._managed.keys() - scan.wanted.keys() - set(others[:missing])

    def _next(self) -> ManagedVersion | None:
        now = self._loop.time()
        due = [managed for managed in self._managed.values() if managed.due <= now]
        return max(due, key=lambda managed: managed.version.number, default=None)

    async def _load(self, managed: ManagedVersion) -> None:
        if managed.version.state is VersionState.END:
            managed.version = self._make_version(managed.version.number, managed.found.folder)
        version, started = managed.version, self._loop.time()
        log("version_loading", model=version.model, version=version.number, folder=version.folder)
        try:
            await version.load(low_priority=any(self._available()))
        except Failure:
            self._failed(managed)
        else:
            managed.due, managed.available_since, managed.has_answered = NEVER, self._loop.time(), True
            seconds = round(self._loop.time() - started, 3)
            log("version_available", model=version.model, version=version.number, seconds=seconds)

    def _failed(self, managed: ManagedVersion) -> None:
        managed.failures += 1
        longest, left, wait = self._serving.load_retry_seconds, None, NEVER
        if managed.has_answered:
            wait = min(MIN_RETRY_SECONDS * 2 ** min(managed.failures - 1, MAX_DOUBLINGS), longest)
        elif left := max(0, self._serving.load_retries + 1 - managed.failures):
            wait = longest
        managed.due = self._loop.time() + wait
        version = managed.version
        log(
            "version_failed",
            model=version.model,
            version=version.number,
            error=version.error.message if version.error else "",
            tries_left=left,
            next_try_seconds=wait if wait < NEVER else None,
        )

    def _remove(self, number: int) -> None:
        version = self._managed.pop(number).version
        if version.state is VersionState.AVAILABLE:
            self._ending[number] = version
            task = self._loop.create_task(self._unload(version))
            self._unloads.add(task)
            task.add_done_callback(self._unloads.discard)
        elif version.state is VersionState.END:
            self._add_ended(version)

    async def _unload(self, version: Version) -> None:
        try:
            await version.unload()
        finally:
            del self._ending[version.number]
            self._add_ended(version)
        log("version_unloaded", model=version.model, version=version.number)

    def _add_ended(self, version: Version) -> None:
        self._ended.pop(version.number, None)
        self._ended[version.number] = version
        if len(self._ended) > MAX_ENDED:
            del self._ended[next(iter(self._ended))]

    def _available(self) -> Iterator[Version]:
        versions = (managed.version for managed in self._managed.values())
        return (version for version in versions if version.state is VersionState.AVAILABLE)
