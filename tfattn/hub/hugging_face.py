"""Models on the Hugging Face hub, downloaded by huggingface_hub to its cache.

The package reads the environment: HF_ENDPOINT (a mirror), HF_TOKEN, HF_HUB_CACHE, HF_HUB_OFFLINE and others.
"""

import contextlib
import glob
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from tfattn import console
from tfattn.errors import ConfigError, HubError
from tfattn.hub import requested_files
from tfattn.hub.addresses import HubAddress
from tfattn.hub.failures import hub_failures
from tfattn.hub.integrity import check_checksum, check_safetensors
from tfattn.hub.snapshot import Snapshot

LIBRARY = {"library_name": "tfattn"}  # which the client reports to the hub
_BYTES = "huggingface_hub.snapshot_download"  # the name of the client's bar that counts the bytes of all files


class HuggingFaceSnapshot(Snapshot):
    """A repository at a commit, or a folder or file in it.

    The revision is resolved once. Without a network, the commit that was last seen in the cache is read.

    Args:
        address: the address, with any revision.

    Raises:
        ConfigError, HubError: see `hub_failures` and `requested_files.requested`.
    """

    def __init__(self, address: HubAddress):
        self._requested = address
        with self._failures():
            client = import_client()
            revision = client.HfApi(**LIBRARY).resolve_revision(address.repository, revision=address.revision)
        self.address = replace(address, revision=_checked_commit(revision.resolved, str(address)))
        self._root = _folder(self.address)
        self._sizes = self._list(client)
        self._names = requested_files.requested(self.address, self._sizes)
        self._download(self._names)
        self.path = self._root / address.path

    @cached_property
    def _weights(self) -> list[str]:
        names = requested_files.weights(self.address, self._sizes, self.path)
        self._download(names)
        for name in names:
            if name.endswith(".safetensors"):
                check_safetensors(self._root / name, where=self._where(name))
        return names

    def fetch_weights(self) -> None:
        self._weights  # noqa: B018 (downloaded once)

    def names(self) -> Iterable[str]:
        return [str((self._root / name).relative_to(self.folder)) for name in (*self._names, *self._weights)]

    def _list(self, client: ModuleType) -> dict[str, int | None]:
        """Return the sizes of the files of the repository; without a network and a stored list, those in the cache."""
        repository, commit = self.address.repository, self.address.revision
        with contextlib.suppress(client.errors.CachedRepoTreeNotFoundError):
            return {file.path: file.size for file in client.get_cached_repo_tree(repository, revision=commit)}
        try:
            with self._failures():
                listed = client.HfApi(**LIBRARY).list_repo_tree(repository, revision=commit, recursive=True)
                return {file.path: file.size for file in listed if hasattr(file, "size")}
        except HubError:
            if not self._root.is_dir():
                raise
        found = [path for path in self._root.rglob("*") if path.is_file()]
        return {path.relative_to(self._root).as_posix(): path.stat().st_size for path in found}

    def _download(self, names: Sequence[str]) -> None:
        """Download files that are not in the cache, and check all of them."""
        missing = [name for name in names if not (self._root / name).is_file()]
        if missing:
            size = sum(self._sizes[name] or 0 for name in missing)
            with self._failures(), console.transfer(f"downloading {self._requested}", size) as advance:
                client = import_client()
                client.snapshot_download(
                    self.address.repository,
                    revision=self.address.revision,
                    allow_patterns=[glob.escape(name) for name in missing],
                    tqdm_class=_bar(client, advance),
                    **LIBRARY,
                )
        for name in names:
            self._check(name)

    def _check(self, name: str) -> None:
        """Check that a file is in the cache, with its size and its checksum."""
        from huggingface_hub import constants

        path = self._root / name
        if not path.resolve().is_relative_to(Path(constants.HF_HUB_CACHE).expanduser().resolve()):
            raise HubError(
                "the file is outside of the cache",
                where=self._where(name),
                expected=f"a file in {constants.HF_HUB_CACHE}",
                received=str(path.resolve()),
                remedy="Do not use this server or mirror (HF_ENDPOINT).",
            )
        check_checksum(path, where=self._where(name))

    def _where(self, name: str) -> str:
        return str(replace(self.address, path=name))

    def _failures(self) -> Any:
        return hub_failures(str(self._requested), self._requested.repository)


def import_client() -> ModuleType:
    """Import huggingface_hub.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import huggingface_hub
        import huggingface_hub.errors
    except ImportError:
        raise ConfigError(
            "the package huggingface_hub is not installed",
            key="pretrained",
            remedy="Run: pip install 'tfattn[hub]'",
        ) from None
    return huggingface_hub


def _folder(address: HubAddress) -> Path:
    """Return the folder of a commit in the cache, as the client documents it."""
    from huggingface_hub import constants

    cache = Path(constants.HF_HUB_CACHE).expanduser()
    return cache / f"models--{address.repository.replace('/', '--')}" / "snapshots" / address.revision


def _checked_commit(commit: str, address: str) -> str:
    """Return a commit, which becomes the name of a folder."""
    if not replace(HubAddress("a/b"), revision=commit).is_pinned:
        raise HubError(
            "the hub answers with a revision that is not a commit",
            where=address,
            expected="40 hexadecimal digits",
            received=repr(commit)[:60],
            remedy="Check HF_ENDPOINT: it must be the address of a hub or of a mirror.",
        )
    return commit


def _bar(client: ModuleType, advance: Callable[[int], None]) -> type:
    """Return a class of progress bars for the client, which shows nothing and calls `advance`."""
    from huggingface_hub.utils import tqdm

    class Bar(tqdm):
        monitor_interval = 0  # otherwise each class starts a thread

        def __init__(self, *args: Any, name: str | None = None, **options: Any):
            self._counts = name == _BYTES
            super().__init__(*args, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> None:
            if self._counts:
                advance(int(n or 0))
            super().update(n)

    return Bar
