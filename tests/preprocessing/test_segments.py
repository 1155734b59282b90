"""How texts share the places of a sequence."""

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


def test_special_tokens_stand_between_and_around():
    first, second = tf.ragged.constant([[11, 12, 13], [], [14]]), tf.ragged.constant([[21], [22, 23], []])

    layout = Layout([first, second], max_length=6)

    assert layout.fill([first.values, second.values], [1, 2, 3]).to_list() == [
        [1, 11, 12, 2, 21, 3],
        [1, 2, 22, 23, 3],
        [1, 14, 2, 3],
    ]
    assert layout.is_cut.numpy().tolist() == [True, False, False]


def test_a_batch_of_nothing_stays_one():
    nothing = tf.RaggedTensor.from_row_splits(tf.constant([], tf.int32), tf.constant([0], tf.int64))

    assert Layout([nothing], max_length=5).fill([nothing.values], [1, 2]).to_list() == []
