"""Structured output under the field names of OpenAI, vLLM and llama.cpp."""

import pytest

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.protocols.rest.openai.fields import GuidedField

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


@pytest.mark.parametrize(
    "fields, parameter, guided",
    [
        ({}, "", {}),
        ({"response_format": {"type": "text"}}, "", {}),
        ({"guided_json": SCHEMA}, "guided_json", {"guided_json": SCHEMA}),
        ({"json_schema": SCHEMA}, "json_schema", {"guided_json": SCHEMA}),
        ({"structured_outputs": {"json": SCHEMA}}, "structured_outputs", {"guided_json": SCHEMA}),
        ({"structured_outputs": {"regex": "a", "json": None}}, "structured_outputs", {"guided_regex": "a"}),
        ({"structured_outputs": {"grammar": 'start: "a"'}}, "structured_outputs", {"guided_grammar": 'start: "a"'}),
        ({"structured_outputs": {"choice": ["a", "b"]}}, "structured_outputs", {"guided_choice": ["a", "b"]}),
        (
            {"structured_outputs": {"json_object": True, "disable_any_whitespace": False}},
            "structured_outputs",
            {"response_format": {"type": "json_object"}},
        ),
        (
            {"response_format": {"type": "json_object", "schema": SCHEMA}},
            "response_format",
            {"guided_json": SCHEMA},
        ),
    ],
)
def test_a_constraint_is_the_same_under_each_name(fields, parameter, guided):
    guided_field = GuidedField.of(fields | {"temperature": 1})
    assert (guided_field.parameter, guided_field.guided) == (parameter, guided)


@pytest.mark.parametrize(
    "fields, parameter, message",
    [
        ({"guided_regex": "a", "structured_outputs": {"regex": "a"}}, "structured_outputs", "only one field"),
        ({"structured_outputs": {"regex": "a", "choice": ["a"]}}, "structured_outputs", "expected an object with one"),
        ({"structured_outputs": {}}, "structured_outputs", "expected an object with one of json, regex, choice"),
        ({"structured_outputs": "a"}, "structured_outputs", "expected an object with one"),
        ({"structured_outputs": {"structural_tag": "a"}}, "structured_outputs", "does not support structural_tag"),
    ],
)
def test_an_invalid_constraint_is_refused_with_its_field(fields, parameter, message):
    with pytest.raises(Failure) as refused:
        GuidedField.of(fields)
    assert refused.value.parameter == parameter and message in refused.value.message


@pytest.mark.parametrize(
    "fields, parameter, path",
    [
        ({"structured_outputs": {"json": SCHEMA}}, "structured_outputs", "structured_outputs.json"),
        ({"json_schema": SCHEMA}, "json_schema", "json_schema"),
        ({"response_format": {"type": "json_object", "schema": SCHEMA}}, "response_format", "response_format.schema"),
    ],
)
def test_what_the_model_refuses_is_named_by_the_place_that_was_given(fields, parameter, path):
    failure = GuidedField.of(fields).with_location(invalid("guided_json#/type: no type"))
    assert (failure.parameter, failure.message) == (parameter, f"{path}#/type: no type")
