"""What a text must be, under the names of OpenAI, vLLM and llama.cpp."""

import pytest

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.protocols.rest.openai.form import Form

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
def test_a_form_is_the_same_under_each_of_its_names(fields, parameter, guided):
    form = Form.of(fields | {"temperature": 1})
    assert (form.parameter, form.guided) == (parameter, guided)


@pytest.mark.parametrize(
    "fields, parameter, said",
    [
        ({"guided_regex": "a", "structured_outputs": {"regex": "a"}}, "structured_outputs", "only one field"),
        ({"structured_outputs": {"regex": "a", "choice": ["a"]}}, "structured_outputs", "expected an object with one"),
        ({"structured_outputs": {}}, "structured_outputs", "expected an object with one of json, regex, choice"),
        ({"structured_outputs": "a"}, "structured_outputs", "expected an object with one"),
        ({"structured_outputs": {"structural_tag": "a"}}, "structured_outputs", "does not support structural_tag"),
    ],
)
def test_a_form_that_cannot_be_kept_is_refused_by_the_name_that_was_given(fields, parameter, said):
    with pytest.raises(Failure) as refused:
        Form.of(fields)
    assert refused.value.parameter == parameter and said in refused.value.message


@pytest.mark.parametrize(
    "fields, parameter, place",
    [
        ({"structured_outputs": {"json": SCHEMA}}, "structured_outputs", "structured_outputs.json"),
        ({"json_schema": SCHEMA}, "json_schema", "json_schema"),
        ({"response_format": {"type": "json_object", "schema": SCHEMA}}, "response_format", "response_format.schema"),
    ],
)
def test_what_the_model_refuses_is_named_by_the_place_that_was_given(fields, parameter, place):
    failure = Form.of(fields).located(invalid("guided_json#/type: no type"))
    assert (failure.parameter, failure.message) == (parameter, f"{place}#/type: no type")
