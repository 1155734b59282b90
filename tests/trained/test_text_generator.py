"""Text generation: sample prompts, and answers in chats."""

import keras
import numpy as np
import pytest

from tfattn.formats.chat_template import ChatTemplate, Message
from tfattn.models.gpt import Gpt
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.tasks.language_modeling import LanguageModeling
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.text_generator import TextGenerator, sample_answers, sample_prompts

MESSAGES = {"system": "Be short.", "user": "Hi", "assistant": "No"}
CHAT = [{"role": role, "content": content} for role, content in MESSAGES.items()]


@pytest.mark.parametrize(
    ("row", "asked"),
    [
        ({"text": "To be or\nnot"}, ["To be or", "not"]),
        ({"prompt": "What leaks?", "answer": "The pump"}, ["What leaks?"]),
        ({"messages": CHAT}, ["Be short.", "Hi"]),
    ],
)
def test_sample_prompts_are_texts_or_user_messages(row, asked):
    assert [one["text"] for one in sample_prompts([row], limit=9)] == asked


def test_sample_answers_are_separated_from_earlier_messages():
    rows = [
        {"messages": [*CHAT, {"role": "user", "content": "Why?"}], "row": "a.jsonl:1"},
        {"messages": CHAT[:2], "row": "a.jsonl:2"},  # nothing is sample_answers
        {"prompt": "What leaks?", "answer": "The pump", "row": "a.csv:3"},
    ]
    assert sample_answers(rows, limit=9) == [
        ("a.jsonl:1", [("system", "Be short."), ("user", "Hi")], "No"),
        ("a.csv:3", [("user", "What leaks?")], "The pump"),
    ]


def test_answers_follow_the_chat_template():
    keras.utils.set_random_seed(3)
    learning = ByteBpe(vocabulary_size=280, special_tokens=ChatTemplate().special_tokens)
    learning.fit([{"text": "user assistant Hello! Hello! user assistant"}])
    sizes = {"hidden_dim": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32, "max_sequence_length": 64}
    task = LanguageModeling(model=Gpt(vocabulary_size=280, **sizes), preprocessor=learning)
    generator = TextGenerator(TrainedEnsemble([(learning, task)]), max_tokens=5)
    chats = [[Message("user", "Hello!")], [Message("system", "user"), Message("user", "Hi")]]
    for chat, text in zip(chats, generator.answers(chats, ChatTemplate()), strict=True):
        pieces = ChatTemplate().pieces(chat, is_answered=False)
        ids = [
            number
            for piece in pieces
            for number in (
                [learning.special_token_id(piece.text)] if piece.is_special else next(learning.encode([piece.text]))
            )
        ]
        expected = []
        while len(expected) < 5 and learning.end_id not in expected:
            batch = {"token_ids": np.array([ids]), "padding_mask": np.ones((1, len(ids)), bool)}
            logits = np.array(task.model(batch)["logits"])[0, -1]
            logits[list(learning.suppressed_ids)] = -np.inf
            expected.append(int(logits.argmax()))
            ids.append(expected[-1])
        assert text == b"".join(learning.token_bytes[number] for number in expected).decode("utf-8", "replace")
