"""What a language model is asked: beginnings of texts, or what somebody asks in a chat."""

import pytest

from tfattn.trained.continued_texts import questions

SAID = {"system": "Be short.", "user": "Hi", "assistant": "No"}
CHAT = [{"role": role, "content": content} for role, content in SAID.items()]


@pytest.mark.parametrize(
    ("row", "asked"),
    [
        ({"text": "To be or\nnot"}, ["To be or", "not"]),
        ({"prompt": "What leaks?", "answer": "The pump"}, ["What leaks?"]),
        ({"messages": CHAT}, ["Be short.", "Hi"]),
    ],
)
def test_questions_are_of_what_is_read(row, asked):
    assert [one["text"] for one in questions([row], most=9)] == asked
