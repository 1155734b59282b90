"""Writes configurations: a resolved configuration as YAML with the origin of each value, and the JSON Schema."""

import json
from typing import Any

from tfattn import registry
from tfattn.config.arguments import REQUIRED, Argument
from tfattn.config.read import KeyPath, nearest_location, parse_yaml
from tfattn.config.schema import Config, keys_of
from tfattn.config.types import OfTaskMark, PartMark, PartsMark, SectionMark
from tfattn.errors import ConfigError


def to_yaml(config: Config) -> str:
    """Write a resolved configuration as a pipeline file; a comment after each value says its origin."""
    lines = list(_lines(config.values, (), config.origins))
    width = min(60, max((len(text) for text, _ in lines), default=0))
    return "".join(f"{text:<{width}}  # {origin}\n" if origin else f"{text}\n" for text, origin in lines)


def _lines(values: dict[str, Any], path: KeyPath, origins: dict[KeyPath, str]) -> Any:
    indent = "  " * len(path)
    for key, value in values.items():
        inner = (*path, key)
        if isinstance(value, dict) and value:
            yield f"{indent}{scalar(key)}:", ""
            yield from _lines(value, inner, origins)
        else:
            yield f"{indent}{scalar(key)}: {scalar(value)}", nearest_location(origins, inner)


def scalar(value: Any) -> str:
    """Write a value as JSON, which is YAML, or as a plain word if YAML reads it back unchanged."""
    if isinstance(value, str):
        try:
            if value and parse_yaml(f"key: {value}", "").values == {"key": value}:
                return value
        except ConfigError:
            pass
    return json.dumps(value, ensure_ascii=False)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of pipeline files, for editors."""
    entry = "sections", "pipeline"
    schema, keys = _object(*entry), keys_of(*entry)
    schema["required"] = [key for key, argument in keys.items() if argument.default is REQUIRED and not argument.nested]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tfattn pipeline", **schema}


def _section(kind: str, name: str, *, named: bool = False, outer: frozenset[str] = frozenset()) -> dict[str, Any]:
    schema = _object(kind, name, named=named, outer=outer)
    schema["properties"]["from"] = {"type": "string", "description": "a file of keys to start from"}
    return schema


def _object(kind: str, name: str, *, named: bool = False, outer: frozenset[str] = frozenset()) -> dict[str, Any]:
    properties: dict[str, Any] = {"name": {"const": name}} if named else {}
    properties |= {key: _argument(argument, outer | {kind}) for key, argument in keys_of(kind, name).items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _argument(argument: Argument, outer: frozenset[str]) -> dict[str, Any]:
    """Describe an argument; `outer` are the catalogs of the sections around it."""
    described: dict[str, Any] = {"description": argument.help} if argument.help else {}
    if argument.default is not REQUIRED:
        described["default"] = argument.default
    if isinstance(argument.nested, SectionMark):
        inner = _section("sections", argument.nested.section, outer=outer)
    elif isinstance(argument.nested, PartMark) and argument.nested.catalog not in outer:
        kind = argument.nested.catalog
        # `name` is not required: a section with `from:` may take it from there.
        inner = {"anyOf": [_section(kind, name, named=True, outer=outer) for name in registry.names(kind)]}
    elif isinstance(argument.nested, PartMark):
        inner = {"type": "object"}  # not described further: entries of the catalog may contain other entries
    elif isinstance(argument.nested, PartsMark):
        inner = {"type": "object", "additionalProperties": {"type": "object"}}  # likewise
    elif isinstance(argument.nested, OfTaskMark):
        kind = argument.nested.part
        entries = [_section(kind, name, outer=outer) for name in registry.names(kind)]
        inner = {"anyOf": [entry for index, entry in enumerate(entries) if entry not in entries[:index]]}
    else:
        return {**argument.schema, **described}
    return {**({"anyOf": [inner, {"type": "null"}]} if argument.default is None else inner), **described}


def key_lines(kind: str, name: str) -> list[str]:
    """List the keys of the section of a catalog entry, one line each: key, type, default and explanation."""
    lines = []
    for argument in keys_of(kind, name).values():
        default = "required" if argument.default is REQUIRED else f"default {scalar(argument.default)}"
        given = "filled in" if argument.given else default
        lines.append(f"{argument.name}: {_kind(argument)}; {given}. {argument.help}")
    return lines


def _kind(argument: Argument) -> str:
    match argument.nested:
        case PartMark(catalog=catalog):
            return f"a part: see `tfattn list {catalog}`"
        case PartsMark(catalog=catalog):
            return f"a mapping of names to parts: see `tfattn list {catalog}`"
        case OfTaskMark(part=part):
            return f"a section that depends on the task: see `tfattn list {part}`"
        case SectionMark():
            return "a section"
    return argument.expected()
