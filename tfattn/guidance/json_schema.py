"""Validation of JSON schemas before llguidance reads them.

llguidance follows the specification: it ignores unknown keywords, and a schema may require infinite values. Here a
misspelled keyword, a reference out of the schema and a schema without finite values are errors, with their location.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from tfattn.errors import ServingError, listed, nearest

MAX_DEPTH = 50
MAX_INTEGER = 2**53  # llguidance reads numbers as float64
# Keywords with a schema, a list of schemas, and schemas by name. `items` may have a list (drafts 4 to 2019-09).
SINGLE = ("items", "additionalItems", "additionalProperties")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
NAMED = ("properties", "patternProperties", "$defs", "definitions")
ASSERTIONS = {"type", "const", "enum", "$ref", "required", "pattern", "format", "multipleOf"}
ASSERTIONS |= {*SINGLE, *LISTS, *NAMED[:2]}
ASSERTIONS |= {f"{bound}{kind}" for bound in ("min", "max") for kind in ("imum", "Length", "Items", "Properties")}
ASSERTIONS |= {"exclusiveMinimum", "exclusiveMaximum"}
# Keywords that do not restrict values.
ANNOTATIONS = {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
ANNOTATIONS |= {"$schema", "$id", "id", "$anchor", "$defs", "definitions", "contentMediaType", "contentEncoding"}
KEYWORDS = ASSERTIONS | ANNOTATIONS


def normalize_schema(schema: Any, *, where: str) -> dict[str, Any]:
    """Check a schema and return it for llguidance.

    As with OpenAI's strict schemas, an object has only the properties of its schema, unless `additionalProperties`
    allows others, and a schema with only `properties` or `items` is a schema of objects or arrays. A combination of
    schemas is unchanged, because a property that one part excludes may be required by another.

    Args:
        schema: the parsed schema.
        where: the field of the request, for messages.

    Raises:
        ServingError: the value is no schema, has an unsupported keyword, or no finite value is valid; names the
            location.

    Example:
        >>> normalize_schema({"properties": {"a": {}}}, where="guided_json")
        {'properties': {'a': {}}, 'type': 'object', 'additionalProperties': False}
    """
    try:
        schema = json.loads(json.dumps(schema, allow_nan=False), parse_int=_exact)
    except (ValueError, RecursionError) as error:
        raise ServingError(f"no valid JSON ({error})", where=f"{where}#") from None
    if schema is True:
        return {}
    nodes = list(_nodes(schema, where))
    if not any(map(_combines, nodes)):
        for node in nodes:
            _narrow(node)
    if not _has_finite_value(schema, nodes):
        remedy = "Give a schema that contains itself an alternative that does not."
        raise ServingError("no text is valid", where=where, remedy=remedy)
    return schema


def _exact(digits: str) -> int:
    number = int(digits)
    if abs(number) > MAX_INTEGER:
        raise ValueError(f"numbers above {MAX_INTEGER:,} are not exact")
    return number


def _nodes(schema: Any, where: str) -> Iterator[dict[str, Any]]:
    """Yield a schema and all schemas in it, checked."""
    waiting = [(schema, "")]
    while waiting:
        node, path = waiting.pop()
        if isinstance(node, bool) and path:
            continue
        if not isinstance(node, dict):
            expected, received = 'an object such as {"type": "string"}', json.dumps(node, ensure_ascii=False)[:80]
            raise ServingError("no schema", where=f"{where}#{path}", expected=expected, received=received)
        if path.count("/") > 2 * MAX_DEPTH:
            expected = f"at most {MAX_DEPTH} levels"
            raise ServingError("the schema is nested too deep", where=f"{where}#{path}", expected=expected)
        _check_keywords(node, path, where)
        yield node
        waiting += _inside(node, path)


def _check_keywords(node: dict[str, Any], path: str, where: str) -> None:
    for keyword, value in node.items():
        if keyword not in KEYWORDS or (keyword == "$id" and path):
            raise ServingError(
                "the keyword is not supported",
                where=f"{where}#{path}/{keyword}",
                expected=f"one of {listed(sorted(ASSERTIONS), limit=50)}",
                remedy=nearest(keyword, KEYWORDS - {keyword}) or "Remove it, and check the answer instead.",
            )
        if keyword == "$ref" and not (isinstance(value, str) and value.startswith("#")):
            raise ServingError(
                "a reference out of the schema",
                where=f"{where}#{path}/$ref",
                expected="#/$defs/NAME",
                received=json.dumps(value, ensure_ascii=False)[:80],
            )


def _inside(node: dict[str, Any], path: str) -> Iterator[tuple[Any, str]]:
    """Yield the schemas inside a schema, with their paths."""
    for keyword in SINGLE:
        if keyword in node and not isinstance(node[keyword], list):
            yield node[keyword], f"{path}/{keyword}"
    for keyword in LISTS:
        if isinstance(node.get(keyword), list):
            yield from ((inner, f"{path}/{keyword}/{number}") for number, inner in enumerate(node[keyword]))
    for keyword in NAMED:
        if isinstance(node.get(keyword), dict):
            for name, inner in node[keyword].items():
                yield inner, f"{path}/{keyword}/{name.replace('~', '~0').replace('/', '~1')}"


def _combines(node: dict[str, Any]) -> bool:
    """Return whether a value has to match several schemas at once."""
    alternatives = {"$ref", "anyOf", "oneOf"} & node.keys()
    return "allOf" in node or bool(alternatives) and len(node.keys() & ASSERTIONS) > 1


def _narrow(node: dict[str, Any]) -> None:
    if "properties" in node:
        node.setdefault("type", "object")
        if not {"patternProperties", "minProperties"} & node.keys():
            node.setdefault("additionalProperties", False)
    if "items" in node:
        node.setdefault("type", "array")


def _has_finite_value(schema: dict[str, Any], nodes: list[dict[str, Any]]) -> bool:
    """Return whether a finite value can match a schema that may contain itself."""
    targets = {id(node): _target(schema, node["$ref"]) for node in nodes if "$ref" in node}
    finite: set[int] = set()
    is_new = True
    while is_new and id(schema) not in finite:
        is_new = False
        for node in (*reversed(nodes), *nodes):  # chains of references have either direction
            if id(node) not in finite and _is_finite(node, targets, finite):
                finite.add(id(node))
                is_new = True
    return id(schema) in finite


def _is_finite(node: dict[str, Any], targets: dict[int, Any], finite: set[int]) -> bool:
    def is_known(inner: Any) -> bool:
        return not isinstance(inner, dict) or id(inner) in finite

    needed: list[Any] = [targets[id(node)]] if "$ref" in node else []
    needed += _list_or_empty(node.get("allOf"))
    if node.get("type") == "object" and isinstance(node.get("properties"), dict):
        needed += [
            node["properties"].get(name) for name in _list_or_empty(node.get("required")) if isinstance(name, str)
        ]
    if node.get("type") == "array" and isinstance(node.get("minItems"), int) and node["minItems"] > 0:
        needed += _list_or_empty(node.get("prefixItems"))[: node["minItems"]] or [node.get("items")]
    options = [_list_or_empty(node[keyword]) for keyword in ("anyOf", "oneOf") if node.get(keyword)]
    return all(map(is_known, needed)) and all(any(map(is_known, option)) for option in options)


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _target(schema: Any, reference: str) -> Any:
    """Resolve a JSON pointer; None for an anchor or an unresolved pointer, which llguidance refuses."""
    if reference not in ("#", "") and not reference.startswith("#/"):
        return None
    found = schema
    for key in _keys(reference):
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isascii() and key.isdecimal() and len(key) < 9 and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def _keys(reference: str) -> Iterable[str]:
    return (unquote(key).replace("~1", "/").replace("~0", "~") for key in reference.split("/")[1:])
