"""Padding of ragged sequences with masks, and lists of texts."""

import pytest
import tensorflow as tf

from tfattn.preprocessing.padding import padded, stack_fields
from tfattn.preprocessing.vocabulary import SPECIAL_TOKENS
from tfattn.preprocessing.wordpiece import WordPiece


def test_only_sequences_are_padded_and_masked():
    features = {
        "token_ids": tf.ragged.constant([[5, 6, 0], [7], []], dtype=tf.int32),
        "segment_ids": tf.ragged.constant([[0, 1, 1], [1], []], dtype=tf.int32),
        "target_ids": tf.ragged.constant([[1], [2, 3], [4]], dtype=tf.int32),
        "numeric": tf.constant([[0.5], [1.5], [2.5]]),
    }
    dense = {name: value.numpy().tolist() for name, value in padded(features).items()}
    assert dense == {
        "token_ids": [[5, 6, 0], [7, 0, 0], [0, 0, 0]],
        "segment_ids": [[0, 1, 1], [1, 0, 0], [0, 0, 0]],
        "target_ids": [[1, 0], [2, 3], [4, 0]],
        "numeric": [[0.5], [1.5], [2.5]],
        "padding_mask": [[True, True, True], [True, False, False], [False, False, False]],
        "target_padding_mask": [[True, False], [True, True], [True, False]],
    }


def test_lists_of_sequences_are_padded_and_masked_along_both_axes():
    features = {"token_ids": tf.ragged.constant([[[5, 6], [7]], [[8]], [[], [9, 9, 9]]], dtype=tf.int32)}
    dense = {name: value.numpy() for name, value in padded(features).items()}
    assert dense["token_ids"].shape == dense["padding_mask"].shape == (3, 2, 3)
    assert (dense["padding_mask"] == (dense["token_ids"] > 0)).all()


ROWS = [
    {"context": "a b", "choices": ["c", "", "d c"]},
    {"context": "", "choices": ["a", "b"]},
    {"context": "a " * 20, "choices": ["b c " * 20]},
]


@pytest.fixture
def tokenizer(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in [*SPECIAL_TOKENS, *"abcd"]))
    made = WordPiece(vocabulary=str(path), max_length=10, fields=("context", "choices"))
    made.fit([])
    return made


def test_each_text_is_tokenized_with_the_other_fields_of_its_row(tokenizer):
    features = tokenizer(stack_fields(ROWS, tokenizer.fields))
    for name, sequences in features.items():
        assert sequences.shape.as_list() == [3, None, None]
        for row, lists in zip(ROWS, sequences.to_list(), strict=True):
            for place, found in enumerate(lists):
                text = row["choices"][place] if place < len(row["choices"]) else ""
                alone = {"context": tf.constant([row["context"]]), "choices": tf.constant([text])}
                assert found == (tokenizer(alone)[name].to_list()[0] if text else [])


def test_a_row_is_truncated_if_any_sequence_is(tokenizer):
    assert tokenizer.truncated(stack_fields(ROWS, tokenizer.fields)).numpy().tolist() == [False, False, True]


def test_a_graph_without_static_shapes_gives_equal_results(tokenizer):
    specs = {"context": tf.TensorSpec([None], tf.string), "choices": tf.TensorSpec([None, None], tf.string)}
    graph = tf.function(lambda fields: tokenizer(fields)["token_ids"], input_signature=[specs], autograph=False)
    fields = stack_fields(ROWS, tokenizer.fields)
    assert graph(fields).to_list() == tokenizer(fields)["token_ids"].to_list()
    nothing = {"context": tf.constant(["a"]), "choices": tf.zeros([1, 0], tf.string)}
    assert graph(nothing).to_list() == [[]]


def test_the_vocabulary_is_trained_on_all_texts():
    tokenizer = WordPiece(vocabulary="train", vocabulary_size=40, fields=("context", "choices"))
    tokenizer.fit([{"context": "one", "choices": ["two", "three"]}] * 3)
    assert {"two", "three"} <= set(tokenizer.tokens)
    unknown = tokenizer.unknown(stack_fields([{"context": "one", "choices": ["two", "ж", ""]}], tokenizer.fields))
    assert (unknown["choices"].counted, unknown["choices"].unknown) == (2, 1)
