"""A configuration written back: the resolved whole as YAML with where each value came from, and the JSON Schema."""

import json
from typing import Any

from tfattn import registry
from tfattn.config.arguments import REQUIRED, Argument
from tfattn.config.read import KeyPath, parse_yaml
from tfattn.config.schema import Config, keys_of
from tfattn.config.types import OfTaskMark, PartMark, PartsMark, SectionMark
from tfattn.errors import ConfigError


def to_yaml(config: Config) -> str:
    """Write the resolved whole as a pipeline file of its own; each value is followed by its origin as a comment."""
    lines = list(_lines(config.values, (), config.origins))
    width = min(60, max((len(text) for text, _ in lines), default=0))
    return "".join(f"{text:<{width}}  # {origin}\n" if origin else f"{text}\n" for text, origin in lines)


def _lines(values: dict[str, Any], path: KeyPath, origins: dict[KeyPath, str]) -> Any:
    indent = "  " * len(path)
    for key, value in values.items():
        inner = (*path, key)
        if isinstance(value, dict) and value:
            yield f"{indent}{_scalar(key)}:", ""
            yield from _lines(value, inner, origins)
        else:
            yield f"{indent}{_scalar(key)}: {_scalar(value)}", _origin(inner, origins)


def _origin(path: KeyPath, origins: dict[KeyPath, str]) -> str:
    while path and path not in origins:
        path = path[:-1]
    return origins.get(path, "")


def _scalar(value: Any) -> str:
    """Write a value: JSON is YAML, and a word that reads back as itself needs no quotes."""
    if isinstance(value, str):
        try:
            if value and parse_yaml(f"key: {value}", "").values == {"key": value}:
                return value
        except ConfigError:
            pass
    return json.dumps(value, ensure_ascii=False)


def json_schema() -> dict[str, Any]:
    """Make the JSON Schema of pipeline files, for editors."""
    whole = "sections", "pipeline"
    schema, keys = _object(*whole), keys_of(*whole)
    schema["required"] = [key for key, argument in keys.items() if argument.default is REQUIRED and not argument.nested]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tfattn pipeline", **schema}


def _section(kind: str, name: str, *, named: bool = False) -> dict[str, Any]:
    schema = _object(kind, name, named=named)
    schema["properties"]["from"] = {"type": "string", "description": "a file of keys to start from"}
    return schema


def _object(kind: str, name: str, *, named: bool = False) -> dict[str, Any]:
    properties: dict[str, Any] = {"name": {"const": name}} if named else {}
    properties |= {key: _argument(argument) for key, argument in keys_of(kind, name).items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _argument(argument: Argument) -> dict[str, Any]:
    described: dict[str, Any] = {"description": argument.help} if argument.help else {}
    if argument.default is not REQUIRED:
        described["default"] = argument.default
    if isinstance(argument.nested, SectionMark):
        inner = _section("sections", argument.nested.section)
    elif isinstance(argument.nested, PartMark):
        kind = argument.nested.catalog
        # None requires its name: a section that starts `from` a part may leave it there.
        inner = {"anyOf": [_section(kind, name, named=True) for name in registry.names(kind)]}
    elif isinstance(argument.nested, PartsMark):
        # Not described further: an entry of the catalog may be made of others of it.
        inner = {"type": "object", "additionalProperties": {"type": "object"}}
    elif isinstance(argument.nested, OfTaskMark):
        kind = argument.nested.part
        entries = [_section(kind, name) for name in registry.names(kind)]
        inner = {"anyOf": [entry for place, entry in enumerate(entries) if entry not in entries[:place]]}
    else:
        return {**argument.schema, **described}
    return {**({"anyOf": [inner, {"type": "null"}]} if argument.default is None else inner), **described}


def key_lines(kind: str, name: str) -> list[str]:
    """List what a section of that name takes, a line each: key, type, default and explanation."""
    lines = []
    for argument in keys_of(kind, name).values():
        default = "required" if argument.default is REQUIRED else f"default {_scalar(argument.default)}"
        given = "filled in" if argument.given else default
        lines.append(f"{argument.name}: {_kind(argument)}; {given}. {argument.help}")
    return lines


def _kind(argument: Argument) -> str:
    match argument.nested:
        case PartMark(catalog=others):
            return f"a part: see `tfattn list {others}`"
        case PartsMark(catalog=others):
            return f"parts under names of your own: see `tfattn list {others}`"
        case OfTaskMark(part=others):
            return f"a section that follows from the task: see `tfattn list {others}`"
        case SectionMark():
            return "a section"
    return argument.expected()
