"""Descriptions of types and values, for messages and lists."""

import json
from typing import Any

_WORDS = {
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "a mapping",
}
_BOUNDS = {
    "minimum": ">=",
    "exclusiveMinimum": ">",
    "maximum": "<=",
    "exclusiveMaximum": "<",
    "multipleOf": "a multiple of",
}


def describe_type(schema: dict[str, Any]) -> str:
    """Describe a JSON Schema in a few words."""
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(map(describe_type, options)))
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(repr(value) for value in schema["enum"])
    kind = _WORDS.get(schema.get("type", ""), "a value")
    if schema.get("type") == "array" and "items" in schema:
        return f"a list, each {describe_type(schema['items'])}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        names = f" of {describe_type(schema['propertyNames'])}" if "propertyNames" in schema else ""
        return f"a mapping{names}, each value {describe_type(schema['additionalProperties'])}"
    if "properties" in schema:
        keys = [
            key + (f" {value['const']!r}" if "const" in value else "") for key, value in schema["properties"].items()
        ]
        return f"a mapping with {', '.join(keys)}"
    bounds = [f"{sign} {_number(schema[key])}" for key, sign in _BOUNDS.items() if key in schema]
    pattern = f" that matches {schema['pattern']}" if "pattern" in schema else ""
    return f"{kind} {' and '.join(bounds)}".rstrip() + pattern


def choices(schema: dict[str, Any]) -> list[str]:
    """List the texts that a JSON Schema allows, also inside lists and mappings; empty if it allows any text."""
    inner = [*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")]
    options = [*schema.get("enum", ()), schema.get("const")]
    return [option for option in options if isinstance(option, str)] + [
        option for part in inner if isinstance(part, dict) for option in choices(part)
    ]


def format_value(value: Any) -> str:
    """Write a scalar as in YAML."""
    return value if isinstance(value, str) else json.dumps(value)


def describe_value(value: Any) -> str:
    """Describe a value for a message: a scalar with its type, or the type of a collection."""
    if value is None or isinstance(value, bool):
        return format_value(value)
    kinds = {int: "an integer", float: "a number", str: "a string"}
    if type(value) in kinds:
        return f"{value!r} ({kinds[type(value)]})"
    return "a list" if isinstance(value, list) else "a mapping"


def quotes_hint(value: Any, expected: str) -> str:
    """Return a remedy if a value of the wrong type may only have missing or needless quotes; else ""."""
    if type(value) in (int, float) and "a string" in expected:
        return "Write it in quotes."
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return ""
        return "Write the number without quotes."
    return ""


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"
