"""Packing of texts into sequences."""

import itertools

import pytest
import tensorflow as tf
from tokenizers import Tokenizer, models, pre_tokenizers

from tfattn.preprocessing.segments import Layout, longest_first


@pytest.mark.parametrize("room", range(2, 12))
def test_pairs_are_cut_as_the_reference_cuts_them(room):
    reference = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    reference.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    reference.enable_truncation(room, strategy="longest_first")
    pairs = list(itertools.product(range(14), repeat=2))

    first, second = longest_first([tf.constant(side, tf.int64) for side in zip(*pairs, strict=True)], room=room)

    expected = [reference.encode(" ".join("a" * left), " ".join("a" * right)).type_ids for left, right in pairs]
    assert first.numpy().tolist() == [ids.count(0) for ids in expected]
    assert second.numpy().tolist() == [ids.count(1) for ids in expected]


def test_special_tokens_surround_texts():
    first, second = tf.ragged.constant([[11, 12, 13], [], [14]]), tf.ragged.constant([[21], [22, 23], []])

    layout = Layout([first, second], max_length=6)

    assert layout.fill([first.values, second.values], [1, 2, 3]).to_list() == [
        [1, 11, 12, 2, 21, 3],
        [1, 2, 22, 23, 3],
        [1, 14, 2, 3],
    ]
    assert layout.is_cut.numpy().tolist() == [True, False, False]


def test_an_empty_batch_has_an_empty_layout():
    nothing = tf.RaggedTensor.from_row_splits(tf.constant([], tf.int32), tf.constant([0], tf.int64))

    assert Layout([nothing], max_length=5).fill([nothing.values], [1, 2]).to_list() == []


@pytest.mark.parametrize("stride", [1, 2, 5])
@pytest.mark.parametrize("first", [None, 0, 2])
def test_windows_equal_the_reference(stride, first):
    """BERT's stride is by how much a window moves on, that of `tokenizers` by how much it overlaps."""
    room = 5 if first is None else 5 - first
    if stride > room:
        return
    reference = Tokenizer(models.WordLevel({str(number): number for number in range(40)}, unk_token="0"))
    reference.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    reference.enable_truncation(5, stride=room - stride, strategy="only_second" if first is not None else "only_first")
    lengths = range(30)
    last = tf.ragged.constant([list(range(length)) for length in lengths], dtype=tf.int64, row_splits_dtype=tf.int64)
    others = [] if first is None else [tf.ones_like(last[:, :0]).with_row_splits_dtype(tf.int64)]
    if first:
        others = [tf.RaggedTensor.from_tensor(tf.fill([len(lengths), first], tf.constant(39, tf.int64)))]

    layout = Layout([*others, last], max_length=5 + 2 + len(others), doc_stride=stride)

    expected, rows = [], []
    for row, length in enumerate(lengths):
        words = " ".join(map(str, range(length)))
        one = reference.encode(words) if first is None else reference.encode(" ".join(["39"] * first), words)
        windows = [one, *one.overflowing]
        expected += [window.ids for window in windows]
        rows += [row] * len(windows)
    specials = [-1] * (len(others) + 2)
    made = layout.fill([text.values for text in (*others, last)], specials).to_list()
    assert [[token for token in sequence if token >= 0] for sequence in made] == expected
    assert layout.rows.numpy().tolist() == rows
    assert not layout.is_cut.numpy().any()


def test_windows_of_the_second_text_have_at_least_half_of_the_room():
    first, second = (
        tf.ragged.constant([[number] * length], row_splits_dtype=tf.int64) for number, length in ((1, 9), (2, 7))
    )

    layout = Layout([first, second], max_length=11, doc_stride=2)

    whole = [0, 1, 1, 1, 1, 0, 2, 2, 2, 2, 0]
    made = layout.fill([first.values, second.values], [0, 0, 0])
    assert made.to_list() == [whole, whole, [*whole[:-2], 0]]
    assert layout.is_cut.numpy().tolist() == [True]


@pytest.mark.parametrize("first", [None, 2])
@pytest.mark.parametrize("stride", [1, 2, 5])
def test_max_context_equals_google_research_bert(stride, first):
    lengths = range(30)
    last = tf.ragged.constant([list(range(length)) for length in lengths], dtype=tf.int32, row_splits_dtype=tf.int64)
    others = [] if first is None else [tf.RaggedTensor.from_tensor(tf.fill([len(lengths), first], -1))]
    layout = Layout([*others, last], max_length=5 + 2 + (first or 0) + len(others), doc_stride=stride)

    pieces = layout.fill([text.values for text in (*others, last)], [-1] * (len(others) + 2)).to_list()
    found = layout.max_context().to_list()

    rows = layout.rows.numpy().tolist()
    for sequence, (tokens, flags) in enumerate(zip(pieces, found, strict=True)):
        windows = [
            [token for token in pieces[other] if token >= 0] for other, row in enumerate(rows) if row == rows[sequence]
        ]
        mine = windows.index([token for token in tokens if token >= 0])
        for token, flag in zip(tokens, flags, strict=True):
            shown = [min(token - one[0], one[-1] - token) if token in one else -1 for one in windows]
            assert flag == (token >= 0 and shown.index(max(shown)) == mine)


def test_a_question_is_cut_to_max_query_length():
    first, second = (
        tf.ragged.constant([[number] * length], row_splits_dtype=tf.int64) for number, length in ((1, 9), (2, 7))
    )

    layout = Layout([first, second], max_length=11, doc_stride=4, max_query_length=2)

    made = layout.fill([first.values, second.values], [0, 0, 0]).to_list()
    assert made == [[0, 1, 1, 0, 2, 2, 2, 2, 2, 2, 0], [0, 1, 1, 0, 2, 2, 2, 0]]
    assert layout.is_cut.numpy().tolist() == [True]
