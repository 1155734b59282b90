"""The choice of a file's format by the suffix of its name."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from tfattn.errors import ConfigError

Kind = TypeVar("Kind")


def by_suffix(path: str | Path, kinds: Mapping[str, Kind]) -> Kind:
    """Choose what to write into a file by the suffix of its name.

    Args:
        path: the file.
        kinds: the choices by suffix, in lower case with its dot.

    Raises:
        ConfigError: there is no choice for the suffix; names those that there are.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in kinds:
        raise ConfigError(
            "the suffix stands for no format",
            where=str(path),
            expected=f"one of {', '.join(kinds)}",
            received=repr(suffix) if suffix else "none",
        )
    return kinds[suffix]
