"""One model, whose versions are loaded and unloaded as their folders appear and disappear."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tensorflow_serving.config.model_server_config_pb2 import ModelConfig

from tfattn.serving.api.failure import Failure
from tfattn.serving.models import versions_on_disk
from tfattn.serving.models.version import RESTART_WINDOW, Version, VersionState
from tfattn.serving.models.versions_on_disk import Found, Look
from tfattn.serving.monitoring.logs import Errors, Problems, log
from tfattn.serving.section import Serving

MOST_ENDED = 10  # versions that are gone and still shown in the status
NEVER = float("inf")
FIRST_WAIT, MOST_DOUBLINGS = 1.0, 16  # seconds before a version that died is loaded again, which double each time


@dataclass
class ManagedVersion:
    """A version that is loaded, or that is to be loaded.

    Attributes:
        version: the version itself; each try to load it makes a new one.
        found: its folder and files, as they were when they last changed.
        due: when it is to be loaded, in the event loop's time.
        failures: how many tries have failed, and how often it has died, since it was last well for a while.
        available_since: when it was loaded, in the event loop's time; None while it does not answer.
        has_answered: whether it was ever available. If so it is never given up.
    """

    version: Version
    found: Found
    due: float
    failures: int = 0
    available_since: float | None = None
    has_answered: bool = False


class ServedModel:
    """Serves the versions of a model that its policy wants, as far as they can be loaded.

    What answers is not taken away before something else does: while some of the wanted versions do not answer, as many
    of the others stay, the newest ones. Where none is wanted because none is left on the disk, the newest one stays,
    unless the settings say to do as TF Serving does. While a version is loaded, its number stands for it: what happens
    to its files changes nothing.

    A version that appears is loaded when its files have stayed the same from one look to the next, since it may still
    be being copied; one that failed to load is loaded anew when its files have changed.

    Args:
        config: its entry in models.config.
        serving: the server's settings.
        make_version: makes a version of a number and a folder.
        loading: held while a version is loaded, by one model at a time: those that answer need the processor.

    Attributes:
        config: as given, or as changed since.
        settled: set once every version that is wanted has been tried.
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
        self._serving, self._make_version, self._loading = serving, make_version, loading
        self._managed: dict[int, ManagedVersion] = {}
        self._ending: dict[int, Version] = {}
        self._ended: dict[int, Version] = {}
        self._unloads: set[asyncio.Task[None]] = set()
        self._is_first_look = True
        self._problems, self._errors = Problems("problem_on_disk", model=config.name), Errors(model=config.name)
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._running = self._loop.create_task(self._run())

    def find(self, number: int | None = None) -> Version | None:
        """Find the available version of a number, or the newest; None where there is none."""
        if number is None:
            return max(self._available(), key=lambda version: version.number, default=None)
        managed = self._managed.get(number)
        return managed.version if managed and managed.version.state is VersionState.AVAILABLE else None

    def versions(self) -> list[Version]:
        """List all versions, and the last of those that are gone, newest first."""
        current = {number: managed.version for number, managed in self._managed.items()}
        known = {**self._ended, **self._ending, **current}
        return [known[number] for number in sorted(known, reverse=True)]

    def change(self, config: ModelConfig) -> None:
        """Follow another entry of models.config from now on."""
        self.config = config
        self._is_first_look = True
        self.settled.clear()
        self._changed.set()

    async def stop(self) -> None:
        """Load nothing more, and unload every version once it is not used."""
        self._running.cancel()
        await asyncio.wait([self._running])
        self.settled.set()  # nobody need wait any more
        for number in list(self._managed):
            self._take_away(number)
        await asyncio.gather(*self._unloads)

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            try:
                has_loaded = await self._step()
            except Exception as error:  # whatever it is, the next look may fare better
                has_loaded = False
                self._errors.came(error)
            else:
                self._errors.ended()
            if has_loaded or self._changed.is_set():
                continue
            self.settled.set()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), self._serving.poll_seconds)

    async def _step(self) -> bool:
        """Look at the disk and load at most one version; tell whether there was one to load."""
        if not await self._look() or self._next() is None:
            return False
        async with self._loading:
            # Waiting for another model's load may have taken minutes.
            if await self._look() and (managed := self._next()) is not None:
                await self._load(managed)
        return True

    async def _look(self) -> bool:
        """Follow the versions on disk; tell whether they could be read."""
        config = self.config
        try:
            seen = await asyncio.to_thread(
                versions_on_disk.look,
                Path(config.base_path),
                config.model_version_policy,
                loaded=[version.number for version in self._available()],
            )
        except OSError as error:  # perhaps a disk that is away for a moment: nothing changes
            self._problems.tell(f"cannot look for versions: {error}")
            return False
        if config is not self.config:
            return False
        self._problems.tell(*seen.problems)
        self._follow(seen)
        return True

    def _follow(self, seen: Look) -> None:
        for managed in self._managed.values():
            has_died_too_often = managed.version.state is VersionState.END
            if managed.available_since is not None and has_died_too_often:
                if self._loop.time() - managed.available_since >= RESTART_WINDOW:
                    managed.failures = 0
                managed.available_since = None
                self._failed(managed)
        for number, found in seen.wanted.items():
            if number not in self._ending:
                self._note(number, found)
        self._is_first_look = False
        for number in self._unneeded(seen):
            self._take_away(number)

    def _note(self, number: int, found: Found) -> None:
        quiet = self._loop.time() + self._serving.poll_seconds
        managed = self._managed.get(number)
        if managed is None:
            version = self._make_version(number, found.folder)
            self._managed[number] = ManagedVersion(version, found, due=0.0 if self._is_first_look else quiet)
        elif found.files not in (None, managed.found.files):
            managed.found, managed.due, managed.failures = found, quiet, 0

    def _unneeded(self, seen: Look) -> set[int]:
        available = {version.number for version in self._available()}
        missing = len(seen.wanted.keys() - available)
        if not seen.wanted and "keep_last_version" not in self._serving.as_tf_serving:
            missing = 1
        others = sorted(available - seen.wanted.keys(), reverse=True)
        return self._managed.keys() - seen.wanted.keys() - set(others[:missing])

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
            wait = min(FIRST_WAIT * 2 ** min(managed.failures - 1, MOST_DOUBLINGS), longest)
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

    def _take_away(self, number: int) -> None:
        version = self._managed.pop(number).version
        if version.state is VersionState.AVAILABLE:
            self._ending[number] = version
            task = self._loop.create_task(self._unload(version))
            self._unloads.add(task)
            task.add_done_callback(self._unloads.discard)
        elif version.state is VersionState.END:
            self._remember(version)

    async def _unload(self, version: Version) -> None:
        try:
            await version.unload()
        finally:
            del self._ending[version.number]
            self._remember(version)
        log("version_unloaded", model=version.model, version=version.number)

    def _remember(self, version: Version) -> None:
        self._ended.pop(version.number, None)
        self._ended[version.number] = version
        if len(self._ended) > MOST_ENDED:
            del self._ended[next(iter(self._ended))]

    def _available(self) -> Iterator[Version]:
        versions = (managed.version for managed in self._managed.values())
        return (version for version in versions if version.state is VersionState.AVAILABLE)
