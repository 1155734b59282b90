"""Texts that are free until a tag: free text is unchanged, and what follows the tag is valid."""

import json
import random

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.guidance.schemas import SCHEMAS
from tests.guidance.vocabularies import END, drawn, merged
from tfattn.errors import ServingError
from tfattn.formats.tool_calls import TAG, ToolCallParser, call_texts
from tfattn.guidance.guides import Guides
from tfattn.guidance.triggered_guide import Trigger

MERGED = merged(seed=2)
# Tokens that complete the tag in the middle, with and without the text that follows it.
CROSSING = [TAG.encode(), b"call>\n", b"call>\n{", b'>\n{"name": "', b"l> ", b">>", b"<<tool_call>x", b"> <tool_call>"]
TOKENS = [*MERGED[:-1], *CROSSING, END]
GUIDES = Guides(TOKENS)
ENDS = [len(TOKENS) - 1]
SEEDS = st.integers(0, 2**32)


def field(*schemas, trigger=TAG, parallel=False):
    calls = []
    for number, schema in enumerate(schemas):
        begin, end = call_texts(f"f{number}")
        calls.append({"begin": begin, "schema": schema, "end": end, "path": f"[{number}].parameters"})
    return {"tool_calls": {"calls": calls, "trigger": trigger, "parallel": parallel}}


def checked(text, schemas):
    """Return the content and the calls of a text, which must be valid."""
    parser = ToolCallParser()
    deltas = [*parser.add(text), *parser.end()]
    assert not parser.is_cut
    calls = []
    for index in range(parser.num_calls):
        (name,) = [delta.name for delta in deltas if delta.index == index and delta.name]
        arguments = json.loads("".join(delta.arguments for delta in deltas if delta.index == index))
        jsonschema.validate(arguments, schemas[int(name.removeprefix("f"))])
        calls.append(name)
    return "".join(delta.content for delta in deltas), calls


@settings(deadline=None, max_examples=40)
@given(st.lists(SCHEMAS, min_size=1, max_size=3), SEEDS, st.booleans())
def test_answers_that_must_call_are_valid_calls(schemas_and_values, seed, parallel):
    schemas = [schema for schema, _ in schemas_and_values]
    guide = GUIDES.guide(field(*schemas, trigger=None, parallel=parallel), end_ids=ENDS)
    assert not guide.may_stop and not guide.may_end_at(0) and guide.may_end_at(*ENDS)
    content, calls = checked(drawn(guide, TOKENS, random.Random(seed), most=60).decode(), schemas)
    assert content == "" and (len(calls) == 1 or (parallel and calls))


@settings(deadline=None, max_examples=40)
@given(SCHEMAS, SEEDS, st.integers(0, len(TAG)))
def test_what_follows_a_tag_is_a_valid_call_for_any_tokens(schema_and_value, seed, length):
    schema, _ = schema_and_value
    guide, rng, text = GUIDES.guide(field(schema), end_ids=ENDS), random.Random(seed), b""
    start = b"Hm " + TAG.encode()[:length]
    for byte in start:
        guide.advance(byte)
    while guide.may_stop:  # any token with a part of the tag that may follow
        likely = [*range(256), *range(len(MERGED) - 1, len(TOKENS) - 1)]
        known = (start + text)[-(len(TAG) - 1) :]
        ends = [known[i:] for i in range(len(known)) if TAG.encode().startswith(known[i:])]
        wanted = TAG.encode()[len(ends[0]) if ends else 0]
        likely = [one for one in likely if guide.allowed()[one] and TOKENS[one][:1] == bytes([wanted])]
        token_id = rng.choice(likely)
        guide.advance(token_id)
        text += TOKENS[token_id]
    text += drawn(guide, TOKENS, rng)
    content, calls = checked((start + text).decode(), [schema])
    assert content.startswith("Hm ") and calls == ["f0"]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(range(len(TOKENS) - 1)), max_size=30))
def test_text_without_the_tag_is_free(token_ids):
    guide, text = GUIDES.guide(field({"type": "null"}), end_ids=ENDS), b""
    for token_id in token_ids:
        allowed = guide.allowed()
        crossing = [one for one in np.flatnonzero(~allowed) if TAG.encode() not in text + TOKENS[one]]
        assert not crossing, "only tokens that complete the tag are masked out"
        if TAG.encode() in text + TOKENS[token_id]:
            assert not allowed[token_id] or call_texts("f0")[0].encode().startswith(
                (text + TOKENS[token_id])[(text + TOKENS[token_id]).index(TAG.encode()) :]
            )
            return
        guide.advance(token_id)
        text += TOKENS[token_id]
        assert guide.may_stop and guide.may_end_at(0) and not guide.is_finished


def test_a_token_that_completes_the_tag_otherwise_is_not_allowed():
    guide = GUIDES.guide(field({"type": "null"}), end_ids=ENDS)
    for byte in TAG.encode()[:-1]:
        guide.advance(byte)
    refused = {TOKENS[token_id] for token_id in np.flatnonzero(~guide.allowed())}
    assert {b">>", b"> <tool_call>"} <= refused and {b'>\n{"name": "', b">"}.isdisjoint(refused)
    with pytest.raises(ValueError, match="is not allowed"):
        guide.advance(TOKENS.index(b">>"))
    guide.advance(TOKENS.index(b'>\n{"name": "'))
    assert np.flatnonzero(guide.allowed()).tolist() == [ord("f")]


def test_trigger_masks_depend_on_the_incomplete_tag():
    trigger = Trigger.of("<a>", "<a>1", [b"<", b"a", b">", b"1", b"a>1", b"a>2", b""])
    assert [np.flatnonzero(~mask).tolist() for mask in trigger.masks] == [[], [5], []]
    assert trigger.characters == {"<": 0, "a": 1, ">": 2, "1": 3}


def test_a_schema_that_is_no_schema_is_named_by_its_path():
    with pytest.raises(ServingError, match=r"tool_calls\[1\]\.parameters#/not: the keyword is not supported"):
        GUIDES.guide(field({}, {"not": {}}), end_ids=ENDS)
    with pytest.raises(ServingError, match="the tokens of the model cannot form a valid text"):
        Guides([b"a", b"b"]).guide(field({"type": "null"}), end_ids=[])
