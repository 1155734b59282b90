"""Chat templates as Jinja programs write the same texts as the templates of the preprocessing."""

import itertools

import jinja2
import pytest

from tfattn.formats.chat_template import CHAT_FORMATS, ChatTemplate, Message, recognize_format
from tfattn.sharing.chat_jinja import chat_jinja

CHATS = [
    [Message("user", "Hi 'you'\n")],
    [Message("system", 'Be "brief".'), Message("user", " Hi"), Message("assistant", "Ho "), Message("user", "Why?\\n")],
    [Message("user", "1"), Message("assistant", "2"), Message("user", "3"), Message("assistant", "等")],
]


@pytest.mark.parametrize("name", CHAT_FORMATS)
@pytest.mark.parametrize("system", [None, ' It\'s {{ a }} "test". '])
@pytest.mark.parametrize("start", [None, "<s>"])
def test_programs_write_the_texts_of_templates(name, system, start):
    template = ChatTemplate(format=name, system=system, start=start)
    program = chat_jinja(template)
    assert recognize_format(program) == name
    compiled = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(program)  # as transformers
    for chat, is_answered in itertools.product(CHATS, [False, True]):
        expected = "".join(piece.text for piece in template.pieces(chat, is_answered=is_answered))
        messages = [{"role": role, "content": content} for role, content in chat]
        assert compiled.render(messages=messages, add_generation_prompt=not is_answered) == expected
