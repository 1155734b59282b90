"""Fields of other servers are refused if they would change the response, and ignored otherwise."""

from typing import get_type_hints

import pytest
from openai.types import completion_create_params
from openai.types.chat import completion_create_params as chat_create_params
from openai.types.responses import response_create_params

from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.openai.chat import ChatFields
from tfattn.serving.protocols.rest.openai.completion import CompletionFields
from tfattn.serving.protocols.rest.openai.fields import NAMES
from tfattn.serving.protocols.rest.openai.other_fields import OTHER_PATH, UNSUPPORTED, WITHOUT_EFFECT, check, warning
from tfattn.serving.protocols.rest.openai.responses import ResponsesFields

PATHS = [ChatFields, CompletionFields, ResponsesFields]


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_fields_are_refused_with_a_remedy(name):
    remedy, neutral = UNSUPPORTED[name]
    with pytest.raises(Failure, match=f"^{name}: this server does not support it; ") as refused:
        check({name: 0.7}, strict=False)
    assert (refused.value.parameter, refused.value.error_code) == (name, "unsupported_parameter")
    assert refused.value.message.endswith(remedy)
    for value in (None, *neutral):
        assert check({name: value}, strict=True) == []


def test_remedies_name_fields_that_there_are():
    known = {*NAMES}.union(*(path.model_fields for path in PATHS))
    used = {words.rstrip(",;") for remedy, _ in UNSUPPORTED.values() for words in remedy.split() if "_" in words}
    assert {word for word in used if word.isidentifier()} <= known | {"n_best"}


def test_no_field_is_in_two_tables():
    fields = set.intersection(*({*path.model_fields} for path in PATHS))
    tables = [fields, set(UNSUPPORTED), set(OTHER_PATH), set(WITHOUT_EFFECT), set(NAMES)]
    assert len(set.union(*tables)) == sum(map(len, tables))


@pytest.mark.parametrize("name", OTHER_PATH)
def test_a_field_of_the_other_path_is_refused_with_that_path(name):
    path, neutral = OTHER_PATH[name]
    with pytest.raises(Failure, match=f"^{name}: .*; {path} has it"):
        check({name: 5}, strict=False)
    assert check(dict.fromkeys([name], neutral[0] if neutral else None), strict=True) == []


@pytest.mark.parametrize(
    "path, params",
    [
        (ChatFields, chat_create_params.CompletionCreateParamsStreaming),
        (CompletionFields, completion_create_params.CompletionCreateParamsStreaming),
        (ResponsesFields, response_create_params.ResponseCreateParamsStreaming),
    ],
)
def test_every_field_of_openais_client_is_obeyed_or_refused_or_without_effect(path, params):
    known = {*path.model_fields, *NAMES, *UNSUPPORTED, *OTHER_PATH, *WITHOUT_EFFECT}
    assert set(get_type_hints(params)) <= known


def test_unknown_fields_are_told_and_refused_where_a_request_is_strict():
    assert check({"temprature": 1, "user": "me"}, strict=False) == ["temprature"]
    with pytest.raises(Failure, match="^temprature: there is no such field") as refused:
        check({"user": "me", "temprature": 1}, strict=True)
    assert (refused.value.parameter, refused.value.error_code) == ("temprature", "unknown_parameter")


def test_a_header_of_unknown_fields_is_one_short_line_whatever_they_are_called():
    line = warning(["a\r\nb", "x" * 10**6, "é", *map(str, range(100))])
    assert line.isascii() and b"\n" not in line and len(line) < 500 and line.startswith(b"a%0D%0Ab, xxx")
