"""Types and values in words, for messages and lists."""

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


def described(schema: dict[str, Any]) -> str:
    """Put a JSON Schema into a few words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(described(option) for option in schema["anyOf"]))
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(repr(value) for value in schema["enum"])
    kind = _WORDS.get(schema.get("type", ""), "a value")
    if schema.get("type") == "array" and "items" in schema:
        return f"a list, each {described(schema['items'])}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        names = f" of {described(schema['propertyNames'])}" if "propertyNames" in schema else ""
        return f"a mapping{names}, each value {described(schema['additionalProperties'])}"
    bounds = [f"{sign} {_number(schema[key])}" for key, sign in _BOUNDS.items() if key in schema]
    pattern = f" that matches {schema['pattern']}" if "pattern" in schema else ""
    return f"{kind} {' and '.join(bounds)}".rstrip() + pattern


def plain(value: Any) -> str:
    """Write a value as YAML has it."""
    return value if isinstance(value, str) else json.dumps(value)


def shown(value: Any) -> str:
    """Write a value as YAML has it, with its type in words."""
    if value is None or isinstance(value, bool):
        return plain(value)
    kinds = {int: "an integer", float: "a number", str: "a string"}
    if type(value) in kinds:
        return f"{value!r} ({kinds[type(value)]})"
    return "a list" if isinstance(value, list) else "a mapping"


def quotes_hint(value: Any, expected: str) -> str:
    """Give a remedy where a value of the wrong type may only have wrong quotes; else nothing."""
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
