"""JSON Schema: valid values can be written, and what cannot be held to is refused with its place."""

import json

import pytest
from hypothesis import given, settings

from tests.guidance.schemas import SCHEMAS
from tests.guidance.vocabularies import fits
from tfattn.errors import ServingError
from tfattn.guidance.json_schema import JsonSchema
from tfattn.guidance.network import Network


def takes(schema, value):
    made = JsonSchema(schema, where="schema")
    return fits(made.root, json.dumps(value), made.rules)


@settings(deadline=None)
@given(SCHEMAS)
def test_a_valid_value_can_be_written(drawn):
    schema, value = drawn
    made = JsonSchema(schema, where="schema")
    assert fits(made.root, json.dumps(value, ensure_ascii=False, separators=(",", ":")), made.rules)


def test_an_object_has_no_properties_but_those_that_are_allowed():
    one = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert takes(one, {}) and takes(one, {"a": 1}) and not takes(one, {"a": 1, "b": 1})
    others = one | {"additionalProperties": {"type": "boolean"}}
    assert takes(others, {"a": 1, "b": True}) and not takes(others, {"a": True}) and not takes(others, {"b": 1})


def test_a_schema_without_type_is_of_that_which_its_keywords_speak_of():
    assert takes({"properties": {"a": True}}, {"a": [None, {"b": 1.5}]})
    assert takes({"items": {"type": "null"}}, [None]) and not takes({"items": {"type": "null"}}, {})
    assert all(takes({}, value) for value in (1, "a", [], {"x": [1]}, None, True))


def test_values_of_an_enumeration_are_those_of_the_type():
    assert takes({"enum": [1, "1"], "type": "string"}, "1") and not takes({"enum": [1, "1"], "type": "string"}, 1)
    assert not takes({"const": 1}, True) and takes({"type": "integer", "enum": [2.0]}, 2.0)


def test_a_reference_may_lead_anywhere_in_the_schema():
    tree = {"type": "array", "items": {"$ref": "#"}}
    assert takes(tree, [[], [[]]]) and not takes(tree, [1])
    odd = {"type": "object", "properties": {"a/~": {"type": "null"}, "b": {"$ref": "#/properties/a~1~0"}}}
    assert takes(odd, {"a/~": None, "b": None})
    chain = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(2000)}
    assert takes({"$ref": "#/$defs/d0", "$defs": chain | {"d2000": {"type": "null"}}}, None) is False  # too deep
    assert takes({"$ref": "#/$defs/d1990", "$defs": chain | {"d2000": {"type": "null"}}}, None)


def test_what_contains_itself_without_an_end_is_empty():
    for schema in (
        {"$ref": "#"},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"anyOf": [{"$ref": "#"}, {"type": "array", "items": {"$ref": "#"}, "minItems": 1}]},
    ):
        made = JsonSchema(schema, where="schema")
        assert Network(made.root, made.rules).is_empty
    assert takes({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, None)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ([], r'schema#: no schema: expected an object such as {"type": "string"}, received \[\]'),
        ({"type": "text"}, 'schema#/type: no type: expected one of object, array, .*, received "text"'),
        ({"type": ["string", 1]}, "schema#/type: no type"),
        (
            {"properties": {"a": {"type": "integer", "minimum": 3}}},
            "schema#/properties/a/minimum: the keyword cannot be",
        ),
        ({"proprties": {}}, "schema#/proprties: .*Did you mean `properties`"),
        ({"oneOf": [{}]}, "schema#/oneOf: the keyword cannot be held to"),
        (
            {"items": {"maxItems": -1}},
            "schema#/items/maxItems: no count: expected a whole number up to 10,000, received -1",
        ),
        ({"minLength": True}, "schema#/minLength: no count"),
        ({"maxLength": 10**9}, "schema#/maxLength: no count"),
        ({"minItems": 3, "maxItems": 2}, "schema#/maxItems: no value is valid: expected at least 3, received 2"),
        ({"type": "string", "items": {}}, "schema#/items: the keyword is not of the type"),
        (
            {"type": "string", "minItems": 2},
            "schema#/minItems: the keyword is not of the type: expected a keyword of string",
        ),
        (
            {"required": ["a"], "properties": {"A": {}}},
            "schema#/required: a required property has no schema: received 'a'",
        ),
        ({"required": "a"}, "schema#/required: no list of names"),
        ({"properties": []}, "schema#/properties: no properties"),
        ({"properties": {"a/b": 1}}, "schema#/properties/a~1b: no schema"),
        ({"enum": []}, "schema#/enum: no list of values: expected at least one"),
        ({"enum": [1], "type": "string"}, "schema#/enum: no value is of the type: expected string"),
        ({"enum": [float("nan")]}, "schema#/enum: no value of JSON"),
        ({"anyOf": [{}], "type": "string"}, "schema#: `anyOf` stands with other keywords: received type"),
        (
            {"anyOf": [{"$ref": "#/$defs/nme"}], "$defs": {"name": {}}},
            "schema#/anyOf/0/.ref: the reference leads nowhere",
        ),
        ({"$ref": "#/$defs/nme", "$defs": {"name": {}}}, "Did you mean `name`"),
        ({"$ref": "https://example.org/schema"}, "schema#/.ref: a reference out of the schema"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema, message):
    with pytest.raises(ServingError, match=message):
        JsonSchema(schema, where="schema")


def test_a_schema_has_a_deepest():
    schema = {}
    for _ in range(200):
        schema = {"items": schema}
    with pytest.raises(ServingError, match="nested too deep: expected at most 50 levels"):
        JsonSchema(schema, where="schema")
    many = {"properties": {str(number): {} for number in range(1001)}}
    with pytest.raises(ServingError, match="at most 1,000 schemas"):
        JsonSchema(many, where="schema")
