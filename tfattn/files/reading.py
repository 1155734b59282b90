"""Reading of JSON files that tfattn has written, validated against the type of their content."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from tfattn.errors import DataError

Shape = TypeVar("Shape")


def read_json(path: str | Path, shape: type[Shape] | Any = Any, *, remedy: str = "") -> Shape:
    """Read a JSON file.

    Args:
        path: the file.
        shape: the type of the content, such as `dict[str, str]`, a TypedDict or a dataclass.
        remedy: the remedy in the error message.

    Returns:
        the content, of type `shape`.

    Raises:
        DataError: the file is missing, is not JSON, or its content has another type; with the file and the key.

    Example:
        >>> read_json("saved_models/factory_reports/1/assets.extra/card.json", dict[str, Any])["measured_on"]
        'validation'
    """
    return parse_json(read_bytes(path, remedy=remedy), shape, where=str(path), remedy=remedy)


def read_json_lines(path: str | Path, shape: type[Shape] | Any = Any, *, remedy: str = "") -> list[Shape]:
    """Read a file with a JSON value of the same type in each line; see `read_json`."""
    lines = read_bytes(path, remedy=remedy).split(b"\n")  # splitlines would split at other line ends of Unicode
    lines = lines if lines[-1] else lines[:-1]
    adapter = TypeAdapter(shape)
    return [
        _validate(adapter.validate_json, line, where=f"{path}:{number}", remedy=remedy)
        for number, line in enumerate(lines, start=1)
    ]


def parse_json(text: bytes, shape: type[Shape] | Any, *, where: str, remedy: str) -> Shape:
    """Parse a JSON text as a value of a type; `where` is the file, for messages."""
    return _validate(TypeAdapter(shape).validate_json, text, where=where, remedy=remedy)


def read_bytes(path: str | Path, *, remedy: str) -> bytes:
    """Read the content of a file.

    Raises:
        DataError: the file is missing or cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError("the file is missing", where=str(path), remedy=remedy) from None
    except OSError as error:
        raise DataError(f"cannot read the file ({error.strerror})", where=str(path), remedy=remedy) from None


def _validate(validate: Callable[..., Shape], text: bytes, *, where: str, remedy: str) -> Shape:
    try:
        return validate(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        what = f"the file is damaged: {f'`{key}`: ' if key else ''}{first['msg']}"
        received = "" if first["type"] in ("json_invalid", "missing") else repr(first["input"])[:60]
        raise DataError(what, where=where, received=received, remedy=remedy) from None
