"""Exports that stay loaded, because most commands of a test file load the same one again."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

MAX_LOADED = 2


@contextmanager
def exports_stay_loaded() -> Iterator[None]:
    """Load an export again only if a file of it has changed, while the block runs."""
    from tfattn.serving.client import local

    load = local.SavedModel

    @lru_cache(MAX_LOADED)
    def loaded(folder: Path, files: tuple[Any, ...], allow_operations: tuple[str, ...]) -> Any:
        return load(folder, allow_operations=allow_operations)

    def load_once(folder: Path, *, allow_operations: Collection[str] = ()) -> Any:
        states = [(path, path.lstat()) for path in sorted(Path(folder).rglob("*"))]
        files = tuple((path, state.st_mtime_ns, state.st_size, state.st_mode) for path, state in states)
        return loaded(Path(folder).absolute(), files, tuple(allow_operations))

    with mock.patch.object(local, "SavedModel", load_once):
        yield
