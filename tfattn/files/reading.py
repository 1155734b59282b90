"""JSON files of ours, read in the shape that they were written in; what is wrong with one is said with its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from tfattn.errors import DataError

Shape = TypeVar("Shape")


def read_json(path: str | Path, shape: type[Shape] | Any = Any, *, remedy: str = "") -> Shape:
    """Reads a JSON file.

    Args:
        path: the file.
        shape: the type of what it holds, such as `dict[str, str]`, a TypedDict or a dataclass.
        remedy: what to do if it is damaged.

    Returns:
        what it holds, of that type.

    Raises:
        DataError: it is missing, is no JSON, or holds something else; names the file and the key.

    Example:
        >>> read_json("saved_models/factory_reports/1/assets.extra/card.json", dict[str, Any])["measured_on"]
        'validation'
    """
    return parse_json(read_bytes(path, remedy=remedy), shape, where=str(path), remedy=remedy)


def read_json_lines(path: str | Path, shape: type[Shape] | Any = Any, *, remedy: str = "") -> list[Shape]:
    """Reads a file with a JSON value in each line, all of one shape; else as `read_json`."""
    lines = read_bytes(path, remedy=remedy).split(b"\n")  # and not at the other ends of lines that Unicode knows
    lines = lines if lines[-1] else lines[:-1]
    adapter = TypeAdapter(shape)
    return [
        _said(adapter.validate_json, line, where=f"{path}:{number}", remedy=remedy)
        for number, line in enumerate(lines, start=1)
    ]


def parse_json(text: bytes, shape: type[Shape] | Any, *, where: str, remedy: str) -> Shape:
    """The value of a JSON text; `where` says which file it is from."""
    return _said(TypeAdapter(shape).validate_json, text, where=where, remedy=remedy)


def read_bytes(path: str | Path, *, remedy: str) -> bytes:
    """The content of a file.

    Raises:
        DataError: it is missing, or cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError("the file is missing", where=str(path), remedy=remedy) from None
    except OSError as error:
        raise DataError(f"cannot read the file ({error.strerror})", where=str(path), remedy=remedy) from None


def _said(validate: Callable[..., Shape], text: bytes, *, where: str, remedy: str) -> Shape:
    try:
        return validate(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        what = f"the file is damaged: {f'`{key}`: ' if key else ''}{first['msg']}"
        received = "" if first["type"] in ("json_invalid", "missing") else repr(first["input"])[:60]
        raise DataError(what, where=where, received=received, remedy=remedy) from None
