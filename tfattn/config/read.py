"""Reads YAML into plain values, with the location of each.

Scalars follow the core schema of YAML 1.2: `1e-4` is a number and `no` is a string. Only mappings, sequences and
scalars are accepted. Tags that build objects, duplicate keys, and files that are too large, too deep or repeat too many
aliases raise ConfigError.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import yaml

from tfattn.config.checksum import verify_checksum
from tfattn.errors import ConfigError, listed
from tfattn.files import find_shipped, similar_path, similar_shipped

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_NODES = 20_000
MAX_DIGITS = 1_000

KeyPath = tuple[str | int, ...]


@dataclass
class Tree:
    """Nested plain values, and the location of each key path: `file:line:column`, or `--set key`."""

    values: Any
    locations: dict[KeyPath, str] = field(default_factory=dict)

    def location(self, path: KeyPath) -> str:
        """Return the location of a key, or of the nearest section around it."""
        return nearest_location(self.locations, path)


def nearest_location(locations: Mapping[KeyPath, str], path: KeyPath) -> str:
    """Return the location of a key path or of its nearest ancestor that has one; "" if none has."""
    while path and path not in locations:
        path = path[:-1]
    return locations.get(path, "")


def read_yaml(path: str | Path) -> Tree:
    """Read a YAML file; its path may be a package:// address.

    Raises:
        ConfigError: the file is missing, not UTF-8, not YAML, or has content that is not allowed; with line and column.
    """
    path = find_shipped(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"cannot read the file ({error.strerror})", where=str(path), remedy=_suggestion(path)
        ) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"not UTF-8 at byte {error.start}", where=str(path), remedy="Save the file as UTF-8."
        ) from None
    verify_checksum(text, str(path))
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Tree:
    """Parse YAML text; `name` is the file's name in messages."""
    if len(text) > MAX_BYTES:
        raise ConfigError(
            "the file is too large", where=name, expected=f"{MAX_BYTES} characters at most", received=str(len(text))
        )
    try:
        _bound_depth(text, name)
        node = yaml.compose(text, Loader=_CoreLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = _location(name, mark) if mark else name
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ConfigError(
            f"not valid YAML ({what})", where=where, remedy="Check indentation, colons and quotes."
        ) from None
    tree = Tree(None)
    tree.values = _Converter(name, tree.locations).convert(node, ()) if node else None
    return tree


def convert_python(value: Any, name: str) -> Tree:
    """Convert values of a Python caller as if they were read from a file.

    Args:
        value: mappings, sequences and scalars. Tuples become lists, paths text, and NumPy scalars Python numbers.
        name: the location of all values, for messages.

    Raises:
        ConfigError: a value is of another type, or a key is not text; names its key path.
    """
    tree = Tree(None)
    tree.values = _plain(value, (), name, tree.locations)
    return tree


def _plain(value: Any, path: KeyPath, name: str, locations: dict[KeyPath, str]) -> Any:
    locations[path] = name
    if len(path) > MAX_DEPTH:
        raise ConfigError("nested too deeply", where=name, expected=f"{MAX_DEPTH} levels at most")
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(inner, (*path, key), name, locations) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, (*path, index), name, locations) for index, inner in enumerate(value)]
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a NumPy scalar
        value = value.item()
    if isinstance(value, PurePath):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    key = ".".join(map(str, path))
    raise ConfigError(
        "not a value that a pipeline file can hold",
        where=f"{name}: {key}" if key else name,
        expected="mappings with text keys, lists, text, numbers, booleans or None",
        received=type(value).__name__,
    )


class _CoreLoader(yaml.SafeLoader):
    """A YAML loader that resolves plain scalars by the core schema of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list] = {}


for _tag, _pattern in {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}.items():
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), None)


class _Converter:
    """A converter of YAML nodes into plain values, which records the location of every key."""

    def __init__(self, name: str, locations: dict[KeyPath, str]):
        self.name = name
        self.locations = locations
        self.count = 0

    def convert(self, node: yaml.Node, path: KeyPath) -> Any:
        self.locations.setdefault(path, _location(self.name, node.start_mark))
        self.count += 1
        if len(path) > MAX_DEPTH:  # only possible with aliases, such as an alias within its own anchor
            raise ConfigError("nested too deeply by aliases", where=self.name, expected=f"{MAX_DEPTH} levels at most")
        if self.count > MAX_NODES:
            raise ConfigError(
                "too many values, counted with repeated aliases", where=self.name, expected=f"{MAX_NODES} at most"
            )
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind == "map" and isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if kind == "seq" and isinstance(node, yaml.SequenceNode):
            return [self.convert(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and kind in _SCALARS:
            return self._scalar(kind, node, path)
        raise ConfigError(
            "this tag is not allowed",
            where=self.locations[path],
            received=node.tag,
            expected="plain mappings, lists and values",
        )

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            where = _location(self.name, key_node.start_mark)
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError("a key must be a plain word", where=where)
            key = key_node.value
            if key in values:
                first = self.locations[(*path, key)]
                raise ConfigError(f"duplicate key `{key}`, first at {first}", where=where, remedy="Keep one of them.")
            self.locations[(*path, key)] = where
            values[key] = self.convert(value_node, (*path, key))
        return values

    def _scalar(self, kind: str, node: yaml.ScalarNode, path: KeyPath) -> Any:
        try:
            return _SCALARS[kind](node.value)
        except ValueError:
            raise ConfigError(
                f"not a valid {kind}", where=self.locations[path], received=repr(node.value[:40])
            ) from None


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"more than {MAX_DIGITS} digits")  # Python parses more in base 16, but cannot print them
    return int(text, {"0o": 8, "0x": 16}.get(text[:2].lower(), 10))


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


_SCALARS = {
    "str": str,
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": _integer,
    "float": _float,
}


def _bound_depth(text: str, name: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_CoreLoader):  # a stream of events: a deep file cannot exhaust the stack
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise ConfigError(
                "nested too deeply", where=_location(name, event.start_mark), expected=f"{MAX_DEPTH} levels at most"
            )


def _location(name: str, mark: yaml.Mark) -> str:
    return f"{name}:{mark.line + 1}:{mark.column + 1}"


def _suggestion(path: Path) -> str:
    if suggested := similar_path(path) or similar_shipped(path):
        return suggested
    found = sorted(str(other) for other in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
    return f"There are: {listed(found)}." if found else ""
