"""JSON schemas: valid values are allowed, and unsupported schemas are refused with their location."""

import json

import pytest
from hypothesis import given, settings

from tests.guidance.schemas import SCHEMAS
from tests.guidance.vocabularies import fits
from tfattn.errors import ServingError
from tfattn.guidance.json_schema import normalize_schema


def takes(schema, value):
    return fits("guided_json", schema, json.dumps(value))


@settings(deadline=None)
@given(SCHEMAS)
def test_valid_values_are_allowed(drawn):
    schema, value = drawn
    assert fits("guided_json", schema, json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def test_an_object_has_only_its_declared_properties():
    one = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert takes(one, {}) and takes(one, {"a": 1}) and not takes(one, {"a": 1, "b": 1})
    others = one | {"additionalProperties": {"type": "boolean"}}
    assert takes(others, {"a": 1, "b": True}) and not takes(others, {"a": True}) and not takes(others, {"b": 1})
    assert takes({"type": "object"}, {"any": 1})


def test_combined_schemas_are_not_narrowed():
    parts = {"allOf": [{"properties": {"a": {"type": "null"}}}, {"properties": {"b": {"type": "null"}}}]}
    assert takes(parts, {"a": None, "b": None}) and not takes(parts, {"a": None, "b": 1})


def test_the_type_follows_from_keywords():
    assert takes({"properties": {"a": True}}, {"a": [None, {"b": 1.5}]}) and not takes({"properties": {}}, 1)
    assert takes({"items": {"type": "null"}}, [None]) and not takes({"items": {"type": "null"}}, {})
    assert all(takes({}, value) for value in (1, "a", [], {"x": [1]}, None, True))


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"type": "array", "items": {"$ref": "#"}}, [[], [[]]], [1]),
        (
            {"properties": {"a/~": {"type": "null"}, "b": {"$ref": "#/properties/a~1~0"}}},
            {"a/~": None, "b": None},
            {"b": 1},
        ),
        ({"$ref": "#/$defs/100%25", "$defs": {"100%": {"const": 1}, "100%25": {"const": 2}}}, 1, 2),
        ({"$ref": "#/%24defs/a", "$defs": {"a": {"const": 1}}}, 1, 2),
        ({"$ref": "#one", "$defs": {"a": {"$anchor": "one", "const": 1}}}, 1, 2),
        ({"$ref": "#/prefixItems/1", "prefixItems": [{"const": 2}, {"const": 1}]}, 1, 2),
    ],
)
def test_references_are_resolved(schema, valid, invalid):
    assert takes(schema, valid) and not takes(schema, invalid)


@pytest.mark.parametrize("reference", ["#items", "#value", "#0/items", "#/1", f"#/{'1' * 5000}", "#/items/%2", "#/ſ"])
def test_unresolved_references_are_refused(reference):
    with pytest.raises(ServingError, match="guided_json: the guide is not supported"):
        takes({"items": {}, "anyOf": [{"$ref": reference}]}, [])


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"properties": {"a": {"$ref": "#/properties/a"}}, "required": ["a"]},
        {"anyOf": [{"$ref": "#"}, {"type": "array", "items": {"$ref": "#"}, "minItems": 1}]},
        {"allOf": [{"$ref": "#"}, {"type": "null"}]},
    ],
)
def test_infinite_recursion_is_refused(schema):
    with pytest.raises(ServingError, match="schema: no text is valid. Give a schema that contains itself"):
        normalize_schema(schema, where="schema")


def test_finite_recursion_is_allowed():
    assert takes({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, None)
    tree = {"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#"}}}, "required": ["a"]}
    assert takes(tree, {"a": [{"a": []}]})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ([], r'schema#: no schema: expected an object such as {"type": "string"}, received \[\]'),
        ({"proprties": {}}, "schema#/proprties: .*Did you mean `properties`"),
        (
            {"properties": {"a": {"uniqueItems": True}}},
            "schema#/properties/a/uniqueItems: the keyword is not supported",
        ),
        ({"items": {"x-guidance": {}}}, "schema#/items/x-guidance: the keyword is not supported"),
        ({"$defs": {"a": {"$id": "other"}}}, "schema#/[$]defs/a/[$]id: the keyword is not supported"),
        ({"properties": {"a/b": 1}}, "schema#/properties/a~1b: no schema"),
        ({"enum": [float("nan")]}, "schema#: no valid JSON"),
        ({"maximum": 2**53 + 1}, "schema#: no valid JSON .numbers above 9,007,199,254,740,992 are not exact"),
        ({"$ref": "https://example.org/schema"}, "schema#/.ref: a reference out of the schema"),
        ({"$ref": "item"}, "schema#/.ref: a reference out of the schema"),
        ({"$ref": 5}, "schema#/.ref: a reference out of the schema"),
    ],
)
def test_invalid_schemas_are_refused_with_their_location(schema, message):
    with pytest.raises(ServingError, match=message):
        normalize_schema(schema, where="schema")


def test_the_depth_of_a_schema_is_limited():
    schema = {}
    for _ in range(200):
        schema = {"items": schema}
    with pytest.raises(ServingError, match="nested too deep: expected at most 50 levels"):
        normalize_schema(schema, where="schema")
