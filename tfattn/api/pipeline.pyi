# Written by `python -m tfattn.api.stubs`.
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tfattn.config.schema import Config


class Pipeline(Mapping[str, Any]):
    config: Config
    def __init__(
        self,
        *,
        name: str,
        data: Mapping[str, Any],
        model: Mapping[str, Any],
        task: Mapping[str, Any],
        training: Mapping[str, Any] = ...,
        evaluation: Mapping[str, Any] = ...,
        export: Mapping[str, Any] = ...,
        runtime: Mapping[str, Any] = ...,
        teacher: Mapping[str, Any] | None = ...,
        calibration: Mapping[str, Any] | None = ...,
        ensemble: Mapping[str, Any] | None = ...,
        search: Mapping[str, Any] | None = ...,
        tracker: Mapping[str, Any] | None = ...,
        seed: int = ...,
        runs_folder: str = ...,
    ) -> None: ...
    @classmethod
    def read(cls, path: str | Path, **overrides: Any) -> Pipeline: ...
    def save(self, path: str | Path) -> None: ...
    def __getitem__(self, key: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
