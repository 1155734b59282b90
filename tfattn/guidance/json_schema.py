"""JSON Schema as expressions: a subset that can be held to while a text is written.

As with OpenAI's strict schemas, an object has no properties but those of the schema, unless `additionalProperties`
allows others, and they are written in the schema's order. A schema without `type` is of the type that its keywords
speak of. What cannot be held to is refused, with its place in the schema, and never passed over.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tfattn.errors import ServingError, listed, nearest
from tfattn.guidance import json_text
from tfattn.guidance.expressions import Choice, Expression, Rule
from tfattn.guidance.json_text import Property

MOST_NESTED = 50
MOST_PROPERTIES = 1000  # of one object
MOST_COUNTED = 10_000  # characters of a string, items of an array: each is a state
# Keywords that say nothing about which values are valid.
ANNOTATIONS = {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
ANNOTATIONS |= {"$schema", "$id", "$defs", "definitions"}
OF_TYPE = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"minLength", "maxLength"},
    "number": set(),
    "integer": set(),
    "boolean": set(),
    "null": set(),
}
IS_OF_TYPE: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or isinstance(value, float) and value.is_integer())
    ),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
# Keywords of which one alone says what is valid.
ALONE = ("$ref", "const", "enum", "anyOf")
KEYWORDS = {"type", *ALONE, *ANNOTATIONS}.union(*OF_TYPE.values())


class JsonSchema:
    """A schema, and what its values may be.

    Args:
        schema: as `json.loads` gives it.
        where: what holds it, for messages.

    Attributes:
        root: the expression of a value.
        rules: the expressions of what `$ref` names, and of any value.

    Raises:
        ServingError: it is no schema, or says more than can be held to; names the place in it.

    Example:
        >>> JsonSchema({"enum": ["a", "b"]}, where="guided_json").root
        Choice(options=(Texts(values=('"a"', '"b"')),))
    """

    def __init__(self, schema: Any, *, where: str):
        self._whole, self._where = schema, where
        self.rules: dict[str, Expression] = dict(json_text.any_value())
        self._named: dict[str, Any] = {}  # schemas that `$ref` names, by their places
        self.root = self._value(schema, "")
        while unmade := [pointer for pointer in self._named if pointer not in self.rules]:
            for pointer in unmade:
                self.rules[pointer] = self._value(self._named[pointer], pointer)

    def _value(self, schema: Any, path: str) -> Expression:
        """Make the expression of the schema that stands at a place, a JSON pointer."""
        if path.count("/") > 2 * MOST_NESTED:
            raise self._error("the schema is nested too deep", path, expected=f"at most {MOST_NESTED} levels")
        if schema is True:
            return Rule("value")
        if not isinstance(schema, dict):
            raise self._error(
                "no schema", path, expected='an object such as {"type": "string"}', received=_shown(schema)
            )
        for keyword in schema:
            if keyword not in KEYWORDS:
                raise self._error(
                    "the keyword cannot be held to",
                    f"{path}/{keyword}",
                    expected=f"one of {listed(sorted(KEYWORDS - ANNOTATIONS))}",
                    remedy=nearest(keyword, KEYWORDS) or "Leave it out, and check the answer for it.",
                )
        given = {keyword: value for keyword, value in schema.items() if keyword not in ANNOTATIONS}
        for keyword in ALONE:
            if keyword in given:
                return self._alone(keyword, given, path)
        return self._of_types(given, path)

    def _alone(self, keyword: str, given: Mapping[str, Any], path: str) -> Expression:
        is_value = keyword in ("const", "enum")
        others = given.keys() - {keyword} - ({"type"} if is_value else set())
        if others:
            raise self._error(f"`{keyword}` stands with other keywords", path, received=listed(sorted(others)))
        if keyword == "$ref":
            return self._reference(given[keyword], path)
        if keyword == "anyOf":
            options = self._list(given, keyword, path)
            return Choice(tuple(self._value(one, f"{path}/anyOf/{n}") for n, one in enumerate(options)))
        values = [given[keyword]] if keyword == "const" else self._list(given, keyword, path)
        types = self._types(given, path)
        values = [value for value in values if types is None or any(IS_OF_TYPE[one](value) for one in types)]
        if not values:
            raise self._error("no value is of the type", f"{path}/{keyword}", expected=listed(types or ()))
        try:
            return json_text.one_literal(values)
        except ValueError as error:  # not a number
            raise self._error(f"no value of JSON ({error})", f"{path}/{keyword}") from None

    def _reference(self, reference: Any, path: str) -> Expression:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise self._error(
                "a reference out of the schema", f"{path}/$ref", expected="#/$defs/NAME", received=_shown(reference)
            )
        pointer = reference[1:]
        if pointer not in self._named:
            self._named[pointer] = self._found(pointer, path)
        return Rule(pointer)

    def _found(self, pointer: str, path: str) -> Any:
        found = self._whole
        for key in pointer.split("/")[1:]:
            key = key.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, dict) and key in found:
                found = found[key]
            else:
                known = self._whole.get("$defs", {}) if isinstance(self._whole, dict) else {}
                remedy = nearest(key, known) if isinstance(known, dict) else ""
                raise self._error("the reference leads nowhere", f"{path}/$ref", received=f"#{pointer}", remedy=remedy)
        return found

    def _of_types(self, given: Mapping[str, Any], path: str) -> Expression:
        types = self._types(given, path)
        if types is None:
            types = [one for one, keywords in OF_TYPE.items() if keywords & given.keys()]
            if not types:
                return Rule("value")
        spoken_of = set[str]().union({"type"}, *(OF_TYPE[one] for one in types))
        for keyword in given:
            if keyword not in spoken_of:
                raise self._error(
                    "the keyword is not of the type", f"{path}/{keyword}", expected=f"a keyword of {listed(types)}"
                )
        return Choice(tuple(self._of_type(one, given, path) for one in types))

    def _of_type(self, name: str, given: Mapping[str, Any], path: str) -> Expression:
        match name:
            case "object":
                return self._object(given, path)
            case "array":
                item = self._value(given.get("items", True), f"{path}/items")
                return json_text.array(item, *self._counts(given, "minItems", "maxItems", path))
            case "string":
                return json_text.string(*self._counts(given, "minLength", "maxLength", path))
            case "number":
                return json_text.NUMBER
            case "integer":
                return json_text.INTEGER
            case "boolean":
                return json_text.BOOLEAN
        return json_text.NULL

    def _object(self, given: Mapping[str, Any], path: str) -> Expression:
        properties = given.get("properties", {})
        if not isinstance(properties, dict) or len(properties) > MOST_PROPERTIES:
            expected = f"an object of at most {MOST_PROPERTIES:,} schemas"
            raise self._error("no properties", f"{path}/properties", expected=expected, received=_shown(properties))
        required = given.get("required", [])
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise self._error("no list of names", f"{path}/required", received=_shown(required))
        for name in required:
            if name not in properties:
                remedy = nearest(name, properties)
                raise self._error(
                    "a required property has no schema", f"{path}/required", received=repr(name), remedy=remedy
                )
        others = given.get("additionalProperties", False)
        further = None if others is False else self._value(others, f"{path}/additionalProperties")
        return json_text.object_of(
            [
                Property(name, self._value(one, f"{path}/properties/{_escaped(name)}"), name in required)
                for name, one in properties.items()
            ],
            others=further,
        )

    def _types(self, given: Mapping[str, Any], path: str) -> list[str] | None:
        types = given.get("type")
        if types is None and "type" not in given:
            return None
        types = [types] if isinstance(types, str) else types
        if (
            not isinstance(types, list)
            or not types
            or not all(isinstance(one, str) and one in OF_TYPE for one in types)
        ):
            received = _shown(given["type"])
            raise self._error("no type", f"{path}/type", expected=f"one of {listed(OF_TYPE)}", received=received)
        return types

    def _counts(self, given: Mapping[str, Any], least: str, most: str, path: str) -> tuple[int, int | None]:
        for keyword in (least, most):
            count = given.get(keyword, 0)
            if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MOST_COUNTED:
                expected = f"a whole number up to {MOST_COUNTED:,}"
                raise self._error("no count", f"{path}/{keyword}", expected=expected, received=_shown(count))
        bounds = given.get(least, 0), given.get(most)
        if bounds[1] is not None and bounds[1] < bounds[0]:
            raise self._error(
                "no value is valid", f"{path}/{most}", expected=f"at least {bounds[0]}", received=str(bounds[1])
            )
        return bounds

    def _list(self, given: Mapping[str, Any], keyword: str, path: str) -> list[Any]:
        values = given[keyword]
        if not isinstance(values, list) or not values:
            raise self._error(
                "no list of values", f"{path}/{keyword}", expected="at least one", received=_shown(values)
            )
        return values

    def _error(self, what: str, path: str, **details: str) -> ServingError:
        return ServingError(what, where=f"{self._where}#{path}", **details)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)[:80]
