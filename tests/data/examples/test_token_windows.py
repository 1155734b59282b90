"""Windows of tokens: each token is predicted once; training windows shift, others are fixed."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.data.examples.encoding import serialized
from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.parsing import parse
from tfattn.data.examples.targets import Target
from tfattn.data.examples.token_windows import TokenWindows
from tfattn.data.examples.transforms import epoch_key, seeds_of
from tfattn.errors import ConfigError
from tfattn.formats.source import Row
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.whole_tokens import CharacterTokens
from tfattn.preprocessing.wordpiece import WordPiece

T = 8
TEXTS = ["to be, or not to be", "that", "is the question: whether 'tis nobler in the mind"]
ROWS = [Row({"text": text}, f"a.txt:{number}") for number, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def tokenizer():
    tokenizer = CharacterTokens(max_length=T)
    tokenizer.fit([row.fields for row in ROWS])
    return tokenizer


def made(tokenizer, *, is_training=False, **options):
    windows = TokenWindows(**options)
    windows.require(tokenizer)
    return list(windows.of(ROWS, tokenizer, Target(), Randomness(np.zeros(len(ROWS), np.uint64), is_training)))


def laid(tokenizer):
    """All documents end to end, as ids."""
    end = tokenizer.end_id
    return [end, *(number for ids in tokenizer.encode(TEXTS) for number in [*ids.tolist(), end])]


def told(examples):
    """The tokens that are to be told, in order."""
    return [
        number
        for _, values in examples
        for number, is_told in zip(values["input_ids"], values.get("loss_mask", [0] + [1] * 99), strict=False)
        if is_told
    ]


def test_windows_are_full_and_predict_each_token_once(tokenizer):
    windows = made(tokenizer)
    assert {len(values["input_ids"]) for _, values in windows[:-1]} == {T + 1}
    assert told(windows) == laid(tokenizer)[1:]
    assert [row for row, _ in windows] == sorted(row for row, _ in windows) and windows[-1].row == 2


@pytest.mark.parametrize("stride", [1, 3, T])
def test_with_a_stride_each_token_is_a_target_once_after_enough_context(tokenizer, stride):
    windows = made(tokenizer, stride=stride)
    assert told(windows) == laid(tokenizer)[1:]
    for _, values in windows[1:]:
        assert np.argmax(values["loss_mask"]) >= T - stride + 1
    training = made(tokenizer, stride=stride, is_training=True)
    assert len(training) == len(made(tokenizer)) and told(training) == laid(tokenizer)[1:]


def test_evaluation_windows_are_fixed(tokenizer):
    windows, shifted = made(tokenizer), made(tokenizer, shift=True)
    assert all(
        np.array_equal(one.values["input_ids"], other.values["input_ids"])
        for one, other in zip(windows, shifted, strict=True)
    )


def test_separate_documents_are_between_two_end_tokens(tokenizer):
    found = [
        (before, number)
        for _, values in made(tokenizer, separate=True)
        for (before, number), is_one_document in zip(
            pairs(values["input_ids"]), np.diff(values["sequence_ids"]) == 0, strict=True
        )
        if is_one_document
    ]
    end = tokenizer.end_id
    assert found == [pair for ids in tokenizer.encode(TEXTS) for pair in pairs([end, *ids, end])]
    assert all(values["sequence_ids"][0] == 1 for _, values in made(tokenizer, separate=True))


def test_documents_with_a_start_token_have_no_end_token_before_them(tokenizer):
    with_start = ByteBpe(vocabulary_size=270, max_length=T, start_token="<s>")
    with_start.fit([row.fields for row in ROWS])
    start, end = with_start.start_ids[0], with_start.end_id
    whole = [number for ids in with_start.encode(TEXTS) for number in [start, *ids.tolist(), end]]
    assert told(made(with_start)) == whole[1:]
    apart = made(with_start, separate=True)
    assert told(apart) == whole[1:]
    owners = np.concatenate([[values["sequence_ids"][:-1]] for _, values in apart], axis=None)
    assert (np.diff(owners) != 0).sum() >= len(TEXTS) - 1


def pairs(ids):
    ids = list(map(int, ids))
    return list(zip(ids, ids[1:], strict=False))


def test_training_windows_shift_by_seed_epoch_and_record(tokenizer):
    windows = TokenWindows(shift=True, separate=True, stride=2)
    examples = [values for _, values in made(tokenizer, is_training=True, shift=True, separate=True, stride=2)]
    assert {len(values["input_ids"]) for values in examples[:-2]} == {2 * T}
    features = windows.features(ROWS[0], tokenizer, Target())
    lengths = np.array([[len(values["input_ids"])] for values in examples], np.int32)
    batch = parse(tf.constant(serialized(examples, features)), features, lengths)
    (shift,) = windows.transforms(tokenizer)
    found = set()
    for epoch in range(20):
        moved = shift(batch, seeds_of(tf.range(len(examples)), epoch_key(seed=1, epoch=epoch)))
        again = shift(batch, seeds_of(tf.range(len(examples)), epoch_key(seed=1, epoch=epoch)))
        assert all(np.array_equal(moved[name], again[name]) for name in moved)
        assert {name: values.shape[1] for name, values in moved.items()} == dict.fromkeys(batch, T + 1)
        for row, values in enumerate(examples):
            (places,) = np.nonzero(moved["padding_mask"][row].numpy())
            taken = moved["token_ids"][row].numpy()[places].tolist()
            whole = list(map(int, values["input_ids"]))
            begins = [first for first in range(len(whole)) if whole[first : first + len(taken)] == taken]
            assert begins and len(taken) == min(T + 1, len(whole))
            found.add(begins[0]) if row == 0 else None
    assert len(found) > T // 2 and max(found) < T


def test_other_preprocessors_and_gaps_are_refused(tokenizer):
    with pytest.raises(ConfigError, match="expected byte_bpe, characters or words, received WordPiece"):
        TokenWindows().require(WordPiece())
    with pytest.raises(ConfigError, match="tokens between two windows: expected at most the max_length 8"):
        TokenWindows(stride=T + 1).require(tokenizer)
