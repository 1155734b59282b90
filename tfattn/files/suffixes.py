"""What is to be written into a file, by its name."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from tfattn.errors import ConfigError

Kind = TypeVar("Kind")


def by_suffix(path: str | Path, kinds: Mapping[str, Kind]) -> Kind:
    """What is to be written into a file, by the suffix of its name.

    Args:
        path: the file.
        kinds: what each suffix stands for, in lower case with its dot.

    Raises:
        ConfigError: it stands for nothing; names those that there are.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in kinds:
        raise ConfigError(
            "the suffix does not say what to write",
            where=str(path),
            expected=f"one of {', '.join(kinds)}",
            received=repr(suffix) if suffix else "none",
        )
    return kinds[suffix]
