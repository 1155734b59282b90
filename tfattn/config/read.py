"""YAML text to plain values, each with the place where it stands.

YAML 1.2 core types: `1e-4` is a number and `no` is a string. Only mappings, sequences and scalars are read; tags that
would build objects, duplicate keys, and files that are too large, too deep or too often repeated are refused.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tfattn.config.seal import check_seal
from tfattn.errors import ConfigError

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_NODES = 20_000
MAX_DIGITS = 1_000

KeyPath = tuple[str | int, ...]


@dataclass
class Tree:
    """Nested plain values, and for each key path the place it came from."""

    values: Any
    places: dict[KeyPath, str] = field(default_factory=dict)

    def place(self, path: KeyPath) -> str:
        """Say where a key, or else the nearest section around it, stands."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, "")


def read_yaml(path: str | Path) -> Tree:
    """Read a YAML file.

    Raises:
        ConfigError: it is missing, not UTF-8, not YAML, or uses what is not allowed; says line and column.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"cannot read the file ({error.strerror})", where=str(path), remedy=_neighbours(path)
        ) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"not UTF-8 at byte {error.start}", where=str(path), remedy="Save the file as UTF-8."
        ) from None
    check_seal(text, str(path))
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Tree:
    """Read YAML text; `name` stands for the file in messages."""
    if len(text) > MAX_BYTES:
        raise ConfigError(
            "the file is too large", where=name, expected=f"{MAX_BYTES} characters at most", received=str(len(text))
        )
    try:
        _bound_depth(text, name)
        node = yaml.compose(text, Loader=_CoreLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = _place(name, mark) if mark else name
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ConfigError(
            f"not valid YAML ({what})", where=where, remedy="Check indentation, colons and quotes."
        ) from None
    tree = Tree(None)
    tree.values = _Converter(name, tree.places).convert(node, ()) if node else None
    return tree


class _CoreLoader(yaml.SafeLoader):
    """Resolves plain scalars by YAML 1.2's core schema."""

    yaml_implicit_resolvers: dict[str, list] = {}


for _tag, _pattern in {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}.items():
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), None)


class _Converter:
    """Walks composed nodes; writes down the place of every key."""

    def __init__(self, name: str, places: dict[KeyPath, str]):
        self.name = name
        self.places = places
        self.count = 0

    def convert(self, node: yaml.Node, path: KeyPath) -> Any:
        self.places.setdefault(path, _place(self.name, node.start_mark))
        self.count += 1
        if len(path) > MAX_DEPTH:  # only aliases get here, such as one within what it stands for
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
            "this tag is not read",
            where=self.places[path],
            received=node.tag,
            expected="plain mappings, lists and values",
        )

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            where = _place(self.name, key_node.start_mark)
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError("a key must be a plain word", where=where)
            key = key_node.value
            if key in values:
                first = self.places[(*path, key)]
                raise ConfigError(f"duplicate key `{key}`, first at {first}", where=where, remedy="Keep one of them.")
            self.places[(*path, key)] = where
            values[key] = self.convert(value_node, (*path, key))
        return values

    def _scalar(self, kind: str, node: yaml.ScalarNode, path: KeyPath) -> Any:
        try:
            return _SCALARS[kind](node.value)
        except ValueError:
            raise ConfigError(f"not a valid {kind}", where=self.places[path], received=repr(node.value[:40])) from None


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"more than {MAX_DIGITS} digits")  # Python could read more in base 16, but not print them
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
    for event in yaml.parse(text, Loader=_CoreLoader):  # events come one by one: a deep file cannot exhaust the stack
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise ConfigError(
                "nested too deeply", where=_place(name, event.start_mark), expected=f"{MAX_DEPTH} levels at most"
            )


def _place(name: str, mark: yaml.Mark) -> str:
    return f"{name}:{mark.line + 1}:{mark.column + 1}"


def _neighbours(path: Path) -> str:
    near = sorted(str(other) for other in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
    return f"There are: {', '.join(near)}." if near else ""
