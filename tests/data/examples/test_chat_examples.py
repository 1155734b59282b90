"""Chats as examples: only answers and their ends are targets."""

import json

import numpy as np
import pytest

from tfattn.data.batching import Batching
from tfattn.data.examples.chat_examples import ChatExamples
from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.targets import Target
from tfattn.data.preparation.prepare import prepare
from tfattn.data.reader import Reader
from tfattn.data.section import Data
from tfattn.data.split_config import Split
from tfattn.errors import ConfigError, DataError
from tfattn.formats.jsonl_files import JsonLinesFile
from tfattn.formats.source import Row
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.whole_tokens import CharacterTokens

TOKENS = ("<|im_start|>", "<|im_end|>")
PAIRS = [Row({"prompt": "1+1?", "answer": "2"}, "a.jsonl:1"), Row({"prompt": "Hi", "answer": "Hello!"}, "a.jsonl:2")]
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    learning = ByteBpe(vocabulary_size=280, special_tokens=TOKENS)
    learning.fit([{"text": "user assistant Hello! Hello! user assistant"}])
    learning.save(folder)
    return folder


def tokenizer(folder, **options):
    made = ByteBpe(vocabulary=str(folder), special_tokens=TOKENS, **options)
    made.fit([])
    return made


def made(rows, preprocessor, **options):
    examples = ChatExamples(**options)
    randomness = Randomness(np.zeros(len(rows), np.uint64), False)
    return [example.values for example in examples.of(rows, preprocessor, Target(), randomness)]


def alone(rows, preprocessor, **options):
    return made(rows, preprocessor, packing=False, **options)


def names(ids, preprocessor):
    return "".join(preprocessor.tokens[number] for number in ids).replace("Ċ", "\n").replace("Ġ", " ")


def test_answers_and_their_ends_are_targets(folder):
    preprocessor = tokenizer(folder)
    for row, values in zip(PAIRS, alone(PAIRS, preprocessor), strict=True):
        is_told = values["loss_mask"].astype(bool)
        prompt, answer = row.fields["prompt"], row.fields["answer"]
        assert names(values["input_ids"][is_told], preprocessor) == f"{answer}<|im_end|>"
        text = f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n"
        assert names(values["input_ids"], preprocessor) == text


def test_messages_equal_the_pair_of_prompt_and_answer(folder):
    preprocessor = tokenizer(folder)
    (found,) = alone([Row({"messages": CHAT}, "a.jsonl:1")], preprocessor, messages=True)
    expected = alone(PAIRS, preprocessor)[1]
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_several_chats_share_a_sequence_and_are_separated(folder):
    preprocessor = tokenizer(folder)
    apart = alone(PAIRS * 9, preprocessor)
    together = made(PAIRS * 9, preprocessor)
    assert len(together) < len(apart)
    assert all(len(values["input_ids"]) <= preprocessor.max_length + 1 for values in together)
    found = [
        [values[name][values["sequence_ids"] == number].tolist() for name in ("input_ids", "loss_mask")]
        for values in together
        for number in range(1, values["sequence_ids"].max() + 1)
    ]
    expected = [[values[name].tolist() for name in ("input_ids", "loss_mask")] for values in apart]
    assert sorted(found) == sorted(expected)


def test_a_too_long_chat_is_cut_and_reported(folder):
    preprocessor = tokenizer(folder, max_length=12)
    lengths = [len(values["input_ids"]) for values in alone(PAIRS, tokenizer(folder))]
    assert [len(values["input_ids"]) for values in alone(PAIRS, preprocessor)] == [min(13, one) for one in lengths]
    is_cut = ChatExamples().truncated(PAIRS, preprocessor)
    assert is_cut.tolist() == [one > 13 for one in lengths] and is_cut.any()


@pytest.mark.parametrize("wrong", [[], {}, [1], [{"role": "robot", "content": "a"}], [{"role": "user"}], "Hi"])
def test_an_invalid_chat_is_refused_with_its_location(folder, wrong):
    with pytest.raises(DataError, match=r"a\.jsonl:3: the value of `messages` is no chat: expected a list such as"):
        made([Row({"messages": wrong}, "a.jsonl:3")], tokenizer(folder), messages=True)


def test_other_vocabularies_are_refused(folder):
    for other in (CharacterTokens(), ByteBpe()):
        with pytest.raises(ConfigError, match="expected byte_bpe or piece_bpe with a vocabulary that is `pretrained`"):
            ChatExamples().require(other)
    without = ByteBpe(vocabulary_size=270)
    without.fit([{"text": "a b"}])
    with pytest.raises(ConfigError, match=r"a vocabulary without <\|im_start\|>, <\|im_end\|>"):
        ChatExamples().features(PAIRS[0], without, Target())


def test_chats_have_the_format_of_the_published_weights():
    special = ("<s>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>")
    learning = ByteBpe(vocabulary_size=280, special_tokens=special)
    learning.fit([{"text": "user assistant Hello! Hello! user assistant"}])
    preprocessor = ByteBpe(vocabulary="pretrained")
    ends = {"end_token": "<|eot_id|>", "start_token": "<s>", "chat_format": "llama3"}
    preprocessor.adopt(vocabulary=learning._fitted, pattern="gpt2", **ends)
    preprocessor.fit([])
    values = alone(PAIRS, preprocessor, system="Be brief.")[1]
    text = "".join(
        f"<|start_header_id|>{role}<|end_header_id|>\n\n{content}<|eot_id|>"
        for role, content in (("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello!"))
    )
    assert names(values["input_ids"], preprocessor) == f"<s>{text}"
    assert names(values["input_ids"][values["loss_mask"].astype(bool)], preprocessor) == "Hello!<|eot_id|>"
    preprocessor.chat_format = None
    with pytest.raises(ConfigError, match="the chat template of the published weights is unknown: expected chatml, "):
        ChatExamples().features(PAIRS[0], preprocessor, Target())


def test_chats_of_a_file_are_prepared(folder, tmp_path):
    lines = [json.dumps({"chat": [*CHAT, {"role": "user", "content": f"{number}?"}]}) for number in range(8)]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    data = Data(
        source=JsonLinesFile(path=str(tmp_path / "chats.jsonl"), fields={"messages": "chat"}),
        preprocessing=ByteBpe(vocabulary=str(folder), special_tokens=TOKENS),
        batching=Batching(batch_size=4),
        split=Split(validation=0.25),
        targets=Target(),
        examples=ChatExamples(messages=True, packing=False),
    )
    prepare(data, tmp_path / "prepared", seed=3)
    (batch,) = Reader(tmp_path / "prepared", "validation", batching=data.batching, seed=3, shuffle=False).dataset(0)
    told = batch["token_ids"].numpy()[0][batch["loss_mask"].numpy()[0] > 0]
    assert names(told, data.preprocessing) == "Hello!<|im_end|>"
