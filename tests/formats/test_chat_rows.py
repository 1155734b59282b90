"""Chats of rows: the roles of each format, and messages under both names of keys."""

import pytest

from tfattn.errors import ConfigError
from tfattn.formats.chat_rows import CHAT_ROLES, chat_of, chat_roles


@pytest.mark.parametrize("roles", CHAT_ROLES.values())
def test_the_format_follows_from_the_roles(roles):
    assert chat_roles([*reversed(roles), "id"]) == roles


def test_the_input_of_an_instruction_is_optional():
    assert chat_roles(["output", "instruction"]) == ("instruction", "output")
    with pytest.raises(ConfigError, match="unclear: expected columns of the roles of a single format, received input"):
        chat_roles(["input", "output"])


def test_roles_of_sharegpt_are_those_of_messages():
    turns = [("system", "Be brief."), ("human", "Hi"), ("gpt", "Hello!"), ("human", "Bye")]
    messages = chat_of({"messages": [{"from": role, "value": text} for role, text in turns]}, "a.jsonl:1")
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert [message.content for message in messages] == [text for _, text in turns]
