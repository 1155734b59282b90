"""Guides: samples are valid for any vocabulary."""

import json
import random
import re

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.guidance.schemas import SCHEMAS
from tests.guidance.vocabularies import BYTES, END, drawn, merged
from tfattn.errors import ServingError
from tfattn.guidance.guides import Guides

VOCABULARIES = [[*BYTES, END], merged(seed=1)]
GUIDES = [Guides(token_bytes) for token_bytes in VOCABULARIES]
ENDS = [[len(token_bytes) - 1] for token_bytes in VOCABULARIES]
SEEDS = st.integers(0, 2**32)


def written(fields, seed, which=1, **options):
    return drawn(
        GUIDES[which].guide(fields, end_ids=ENDS[which]), VOCABULARIES[which], random.Random(seed), **options
    ).decode()


@settings(deadline=None, max_examples=60)
@given(SCHEMAS, SEEDS, st.sampled_from([0, 1]))
def test_samples_under_a_schema_are_valid(schema_and_value, seed, which):
    schema, _ = schema_and_value
    jsonschema.validate(json.loads(written({"guided_json": schema}, seed, which)), schema)


@pytest.mark.parametrize("which", [0, 1])
def test_a_grammar_is_lark(which):
    sums = 'start: number ("+" number)*\nnumber: /[0-9]{1,3}/'
    for seed in range(5):
        assert re.fullmatch(r"\d+(\+\d+)*", written({"guided_grammar": sums}, seed, which))


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.sampled_from([0, 1]))
def test_json_object_allows_any_object(seed, which):
    text = written({"response_format": {"type": "json_object"}}, seed, which)
    assert isinstance(json.loads(text), dict)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=5), SEEDS)
def test_a_choice_is_one_of_its_texts(texts, seed):
    assert written({"guided_choice": texts}, seed) in texts


@given(SEEDS)
@settings(deadline=None, max_examples=20)
def test_a_pattern_matches_the_whole_text(seed):
    pattern = r"[ab]{2,5}(true|-?\d+)é*"
    assert re.fullmatch(pattern, written({"guided_regex": pattern}, seed))


def test_every_choice_can_be_sampled_including_prefixes():
    texts = ["a", "ab", "abé", "b"]
    assert {written({"guided_choice": texts}, seed) for seed in range(80)} == set(texts)


def test_openai_schema_is_the_same_as_a_guided_json():
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}, "required": ["name"]}
    asked = {"type": "json_schema", "json_schema": {"name": "person", "schema": schema, "strict": True}}
    for seed in range(5):
        assert written({"response_format": asked}, seed) == written({"guided_json": json.dumps(schema)}, seed)


def test_texts_with_the_same_guide_are_independent():
    fields = {"guided_choice": ["ab", "ba"]}
    one, other = (GUIDES[0].guide(fields, end_ids=ENDS[0]) for _ in range(2))
    one.advance(ord("a"))
    assert np.flatnonzero(one.allowed()).tolist() == [ord("b")]
    assert np.flatnonzero(other.allowed()).tolist() == [ord("a"), ord("b")]
    with pytest.raises(ValueError, match="97 is not allowed"):
        one.advance(ord("a"))


def test_the_end_is_allowed_after_a_complete_text():
    guide = GUIDES[0].guide({"guided_choice": ["a", "ab"]}, end_ids=ENDS[0])
    guide.advance(ord("a"))
    assert not guide.is_finished and np.flatnonzero(guide.allowed()).tolist() == [ord("b"), *ENDS[0]]
    guide.advance(*ENDS[0])
    assert guide.is_finished and np.flatnonzero(guide.allowed()).tolist() == ENDS[0]


def test_a_text_without_an_end_token_ends_where_nothing_follows():
    guide = GUIDES[0].guide({"guided_choice": ["a", "ab"]}, end_ids=[])
    guide.advance(ord("a"))
    assert not guide.is_finished and np.flatnonzero(guide.allowed()).tolist() == [ord("b")]
    guide.advance(ord("b"))
    assert guide.is_finished


def test_other_fields_are_ignored():
    assert (
        GUIDES[0].guide({"prompt": "a", "guided_json": None, "response_format": {"type": "text"}}, end_ids=[]) is None
    )


def test_a_vocabulary_of_characters_restricts_texts():
    token_bytes = [character.encode() for character in "aeosy né"] + [b""]
    guides = Guides(token_bytes)
    texts = {
        drawn(guides.guide({"guided_choice": ["yes", "no", "né"]}, end_ids=[8]), token_bytes, random.Random(n))
        for n in range(20)
    }
    assert texts == {b"yes", b"no", "né".encode()}
    assert (
        drawn(guides.guide({"guided_choice": ["yes", "never"]}, end_ids=[8]), token_bytes, random.Random(0)) == b"yes"
    )
    with pytest.raises(ServingError, match="guided_json: the tokens of the model cannot form a valid text"):
        guides.guide({"guided_json": {"type": "string"}}, end_ids=[8])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"guided_choice": "yes"}, "guided_choice: no list of texts: expected non-empty texts"),
        ({"guided_choice": ["yes", ""]}, "guided_choice: no list of texts"),
        ({"guided_regex": 1}, "guided_regex: no pattern"),
        ({"guided_regex": "a{0}"}, "guided_regex: only an empty text is valid"),
        (
            {"guided_regex": "a", "guided_json": {}},
            "guided_regex: only one field can guide a text: expected one, received guided_json, guided_regex",
        ),
        ({"guided_json": "{"}, "guided_json: the schema is no JSON"),
        ({"guided_json": {"$ref": "#"}}, "guided_json: no text is valid. Give a schema that contains itself"),
        (
            {"guided_json": {"enum": ["a" * 2**20]}},
            "guided_json: the field is too long: expected at most 1,048,576",
        ),
        ({"guided_regex": "a(b"}, r"guided_regex: the guide is not supported \(unclosed group\)"),
        ({"guided_regex": "a(?=b)"}, "look-around, including look-ahead and look-behind, is not supported"),
        ({"guided_regex": "a\\\\\\"}, "guided_regex: cannot read the pattern: expected a character after"),
        ({"guided_regex": "a" * 2001}, "guided_regex: the pattern is too long: expected at most 2,000 characters"),
        ({"guided_grammar": "start: other"}, r'guided_grammar: .*\(unknown name: "other"\)'),
        ({"guided_grammar": "%llguidance {}\nstart: 'a'"}, "guided_grammar: options of llguidance are not offered"),
        ({"guided_json": {"format": "planet"}}, r"guided_json: .*\(Unknown format: planet\)"),
        ({"response_format": "json"}, 'response_format.type: unknown response format: .*received "json"'),
        ({"response_format": {"type": "xml"}}, 'expected text, json_object or json_schema, received "xml"'),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema: no schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"items": {"not": {}}}}}},
            "response_format.json_schema.schema#/items/not: the keyword is not supported",
        ),
    ],
)
def test_invalid_guides_are_refused(fields, message):
    with pytest.raises(ServingError, match=message):
        GUIDES[0].guide(fields, end_ids=[])
