"""Pairs of answers as examples: the targets are the answers after the shared messages."""

import numpy as np
import pytest

from tests.data.examples.test_chat_examples import names, tokenizer
from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.preference_pairs import PreferencePairs
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError, DataError
from tfattn.formats.source import Row

PAIR = {"prompt": "Hi", "chosen": "Hello!", "rejected": "No."}


def made(rows, preprocessor):
    randomness = Randomness(np.zeros(len(rows), np.uint64), False)
    return [example.values for example in PreferencePairs().of(rows, preprocessor, Target(), randomness)]


def message(role, content):
    return {"role": role, "content": content}


def test_targets_are_the_answers(chat_vocabulary):
    preprocessor = tokenizer(chat_vocabulary)
    (values,) = made([Row(PAIR, "a.jsonl:1")], preprocessor)
    for ids, is_answer, answer in zip(values["input_ids"], values["loss_mask"], ("Hello!", "No."), strict=True):
        text = f"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n"
        assert names(ids, preprocessor) == text
        assert names(np.array(ids)[np.array(is_answer) > 0], preprocessor) == f"{answer}<|im_end|>"


def test_messages_equal_texts_and_shared_answers_are_no_targets(chat_vocabulary):
    preprocessor = tokenizer(chat_vocabulary)
    (expected,) = made([Row(PAIR, "a.jsonl:1")], preprocessor)
    hi, hello, no = message("user", "Hi"), message("assistant", "Hello!"), message("assistant", "No.")
    for fields in (
        {"prompt": [hi], "chosen": [hello], "rejected": [no]},
        {"chosen": [hi, hello], "rejected": [hi, no]},
        {"prompt": [{"from": "human", "value": "Hi"}], "chosen": "Hello!", "rejected": "No."},
    ):
        assert made([Row(fields, "a.jsonl:1")], preprocessor) == [expected]
    turns = [hi, no, hi]
    (longer,) = made([Row({"chosen": [*turns, hello], "rejected": [*turns, no]}, "a.jsonl:1")], preprocessor)
    for ids, is_answer, answer in zip(longer["input_ids"], longer["loss_mask"], ("Hello!", "No."), strict=True):
        assert names(np.array(ids)[np.array(is_answer) > 0], preprocessor) == f"{answer}<|im_end|>"


def test_pairs_without_a_difference_are_excluded(chat_vocabulary):
    preprocessor = tokenizer(chat_vocabulary, max_length=16)
    same, cut = {**PAIR, "rejected": "Hello!"}, {**PAIR, "prompt": "user " * 20}
    rows = [Row(fields, "a.jsonl:1") for fields in (PAIR, same, cut)]
    assert PreferencePairs().excluded(rows, preprocessor).tolist() == [False, True, True]
    assert len(made(rows, preprocessor)) == 1
    assert PreferencePairs().truncated(rows, preprocessor)[2]


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        (
            {"chosen": [message("user", "Hi")], "rejected": [message("user", "Ho")]},
            "`chosen` has no answer to a prompt",
        ),
        ({"chosen": "Hello!", "rejected": "No."}, "`chosen` has no answer to a prompt"),
        ({**PAIR, "rejected": [message("user", "a")]}, "`rejected` has no answer to a prompt"),
        ({**PAIR, "rejected": [{"text": "a"}]}, "the value of `rejected` is no chat"),
        ({**PAIR, "rejected": [message("tool", "a")]}, "a message has an unknown role"),
    ],
)
def test_an_invalid_pair_is_refused_with_its_location(chat_vocabulary, fields, what):
    with pytest.raises(DataError, match=rf"a\.jsonl:3: {what}"):
        made([Row(fields, "a.jsonl:3")], tokenizer(chat_vocabulary))


def test_two_answers_are_required():
    examples = PreferencePairs()
    with pytest.raises(ConfigError, match="a preference needs two answers: expected columns of the roles chosen"):
        examples.choose_roles(["prompt", "answer"])
    examples.choose_roles(["rejected", "id", "prompt", "chosen"])
    assert examples.roles(None) == ("prompt", "chosen", "rejected")
