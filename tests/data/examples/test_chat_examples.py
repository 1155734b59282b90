"""Chats as examples: only answers and their ends are targets."""

import json

import numpy as np
import pytest

from tests.data.examples.conftest import TOKENS
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
from tfattn.models.gpt import Gpt
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.whole_tokens import CharacterTokens
from tfattn.tasks.language_modeling import LanguageModeling

PAIRS = [Row({"prompt": "1+1?", "answer": "2"}, "a.jsonl:1"), Row({"prompt": "Hi", "answer": "Hello!"}, "a.jsonl:2")]
SPLITS = ("train", "validation")
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]


def tokenizer(chat_vocabulary, **options):
    made = ByteBpe(vocabulary=str(chat_vocabulary), special_tokens=TOKENS, **options)
    made.fit([])
    return made


def made(rows, preprocessor, **options):
    examples = ChatExamples(**options)
    randomness = Randomness(np.zeros(len(rows), np.uint64), False)
    return [example.values for example in examples.of(rows, preprocessor, Target(), randomness)]


def alone(rows, preprocessor, **options):
    return made(rows, preprocessor, packing=False, **options)


def chat_data(chat_vocabulary, source):
    return Data(
        source=source,
        preprocessing=ByteBpe(vocabulary=str(chat_vocabulary), special_tokens=TOKENS),
        batching=Batching(batch_size=4),
        split=Split(validation=0.25),
        targets=Target(),
        examples=ChatExamples(packing=False),
    )


def as_batch(values):
    token_ids = values["input_ids"][None]
    more = {name: values[name][None] for name in ("loss_mask", "sequence_ids") if name in values}
    return {"token_ids": token_ids, "padding_mask": np.ones_like(token_ids, bool), "weights": np.ones(1, "f"), **more}


def names(ids, preprocessor):
    return "".join(preprocessor.tokens[number] for number in ids).replace("Ċ", "\n").replace("Ġ", " ")


def test_answers_and_their_ends_are_targets(chat_vocabulary):
    preprocessor = tokenizer(chat_vocabulary)
    for row, values in zip(PAIRS, alone(PAIRS, preprocessor), strict=True):
        is_told = values["loss_mask"].astype(bool)
        prompt, answer = row.fields["prompt"], row.fields["answer"]
        assert names(values["input_ids"][is_told], preprocessor) == f"{answer}<|im_end|>"
        text = f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n"
        assert names(values["input_ids"], preprocessor) == text


def test_all_formats_are_the_same_chat(chat_vocabulary):
    preprocessor = tokenizer(chat_vocabulary)
    expected = alone(PAIRS, preprocessor)[1]
    sharegpt = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello!"}]
    alpaca = [{"instruction": "Hi", "input": text, "output": "Hello!"} for text in ("", " ")]
    for fields in ({"messages": CHAT}, {"messages": sharegpt}, *alpaca, {"instruction": "Hi", "output": "Hello!"}):
        (found,) = alone([Row(fields, "a.jsonl:1")], preprocessor)
        assert all(np.array_equal(found[name], expected[name]) for name in expected)
    (found,) = alone([Row({**alpaca[0], "input": "Ann"}, "a.jsonl:1")], preprocessor)
    assert names(found["input_ids"], preprocessor).startswith("<|im_start|>user\nHi\n\nAnn<|im_end|>")


def test_several_chats_share_a_sequence_and_are_separated(chat_vocabulary):
    preprocessor = tokenizer(chat_vocabulary)
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


def test_packed_chats_have_the_losses_of_separate_chats(chat_vocabulary):
    preprocessor = tokenizer(chat_vocabulary)
    sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8, "dropout": 0.0}
    model = Gpt(vocabulary_size=len(preprocessor.tokens), max_sequence_length=preprocessor.max_length, **sizes)
    task = LanguageModeling(model=model, preprocessor=preprocessor)
    packed, apart = made(PAIRS, preprocessor), alone(PAIRS, preprocessor)
    assert len(packed) == 1 and len(apart) == 2
    (together,), separate = (
        [
            {key: float(value) for key, value in task.statistics(task(batch), batch).items()}
            for batch in map(as_batch, examples)
        ]
        for examples in (packed, apart)
    )
    for name, value in together.items():
        np.testing.assert_allclose(value, sum(sums[name] for sums in separate), rtol=1e-5)


def test_a_too_long_chat_is_cut_and_reported(chat_vocabulary):
    preprocessor = tokenizer(chat_vocabulary, max_length=12)
    lengths = [len(values["input_ids"]) for values in alone(PAIRS, tokenizer(chat_vocabulary))]
    assert [len(values["input_ids"]) for values in alone(PAIRS, preprocessor)] == [min(13, one) for one in lengths]
    is_cut = ChatExamples().truncated(PAIRS, preprocessor)
    assert is_cut.tolist() == [one > 13 for one in lengths] and is_cut.any()


@pytest.mark.parametrize("wrong", [[], {}, [1], [{"from": "gpt"}], [{"role": "user"}], "Hi"])
def test_an_invalid_chat_is_refused_with_its_location(chat_vocabulary, wrong):
    with pytest.raises(DataError, match=r"a\.jsonl:3: the value of `messages` is no chat: expected a list such as"):
        made([Row({"messages": wrong}, "a.jsonl:3")], tokenizer(chat_vocabulary))


@pytest.mark.parametrize("keys", [("role", "content"), ("from", "value")])
def test_an_unknown_role_is_refused(chat_vocabulary, keys):
    wrong = [dict(zip(keys, ("tool", "{}"), strict=True))]
    expected = (
        r"a\.jsonl:3: a message has an unknown role: expected system, user, human, assistant, gpt, received 'tool'"
    )
    with pytest.raises(DataError, match=expected):
        made([Row({"messages": wrong}, "a.jsonl:3")], tokenizer(chat_vocabulary))


@pytest.mark.parametrize("given", ["prompt", "messages prompt answer", "instruction answer", "conversations"])
def test_an_unclear_format_is_refused(given):
    with pytest.raises(ConfigError, match="the format of the chats is unclear.*A chat is `messages`, a list of"):
        ChatExamples().choose_roles(given.split())


def test_alpaca_rows_without_input_are_kept(chat_vocabulary, tmp_path):
    rows = [{"instruction": f"{number}?", "input": "", "output": "Hello!"} for number in range(8)]
    (tmp_path / "alpaca.jsonl").write_text("\n".join(map(json.dumps, rows)))
    fields = {name: name for name in rows[0]}
    data = chat_data(chat_vocabulary, JsonLinesFile(path=str(tmp_path / "alpaca.jsonl"), fields=fields))
    assert data.needed_roles("source") == ("instruction", "output")
    prepare(data, tmp_path / "prepared", seed=3)
    splits = [Reader(tmp_path / "prepared", s, batching=data.batching, seed=3, shuffle=False) for s in SPLITS]
    assert sum(reader.num_records for reader in splits) == 8


def test_other_vocabularies_are_refused(chat_vocabulary):
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


def test_chats_of_a_file_are_prepared(chat_vocabulary, tmp_path):
    lines = [json.dumps({"chat": [*CHAT, {"role": "user", "content": f"{number}?"}]}) for number in range(8)]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    data = chat_data(chat_vocabulary, JsonLinesFile(path=str(tmp_path / "chats.jsonl"), fields={"messages": "chat"}))
    prepare(data, tmp_path / "prepared", seed=3)
    assert data.needed_roles("source") == ("messages",)
    (batch,) = Reader(tmp_path / "prepared", "validation", batching=data.batching, seed=3, shuffle=False).dataset(0)
    told = batch["token_ids"].numpy()[0][batch["loss_mask"].numpy()[0] > 0]
    assert names(told, data.preprocessing) == "Hello!<|im_end|>"
