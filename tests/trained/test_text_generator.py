"""What a language model is asked: beginnings of texts, or what somebody asks in a chat."""

import keras
import numpy as np
import pytest

from tfattn.formats.chat_template import ChatTemplate, Message
from tfattn.models.gpt import Gpt
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.tasks.language_modeling import LanguageModeling
from tfattn.trained.continued_texts import Continuing, answered, questions
from tfattn.trained.ensemble import TrainedEnsemble

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


def test_last_answers_are_told_from_what_was_said_before():
    rows = [
        {"messages": [*CHAT, {"role": "user", "content": "Why?"}], "row": "a.jsonl:1"},
        {"messages": CHAT[:2], "row": "a.jsonl:2"},  # nothing is answered
        {"prompt": "What leaks?", "answer": "The pump", "row": "a.csv:3"},
    ]
    assert answered(rows, most=9) == [
        ("a.jsonl:1", [("system", "Be short."), ("user", "Hi")], "No"),
        ("a.csv:3", [("user", "What leaks?")], "The pump"),
    ]


def test_chats_are_answered_behind_their_template():
    keras.utils.set_random_seed(3)
    learning = ByteBpe(vocabulary_size=280, special_tokens=ChatTemplate().special_tokens)
    learning.fit([{"text": "user assistant Hello! Hello! user assistant"}])
    sizes = {"hidden_dim": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32, "max_sequence_length": 64}
    task = LanguageModeling(model=Gpt(vocabulary_size=280, **sizes), preprocessor=learning)
    continuing = Continuing(TrainedEnsemble([(learning, task)]), most_tokens=5)
    chats = [[Message("user", "Hello!")], [Message("system", "user"), Message("user", "Hi")]]
    for chat, text in zip(chats, continuing.answers(chats, ChatTemplate()), strict=True):
        pieces = ChatTemplate().pieces(chat, is_answered=False)
        ids = [
            number
            for piece in pieces
            for number in ([learning.id_of(piece.text)] if piece.is_special else next(learning.ids_of([piece.text])))
        ]
        expected = []
        while len(expected) < 5 and learning.end_id not in expected:
            batch = {"token_ids": np.array([ids]), "padding_mask": np.ones((1, len(ids)), bool)}
            logits = np.array(task.model(batch)["logits"])[0, -1]
            logits[list(learning.suppressed_ids)] = -np.inf
            expected.append(int(logits.argmax()))
            ids.append(expected[-1])
        assert text == b"".join(learning.token_bytes[number] for number in expected).decode("utf-8", "replace")
